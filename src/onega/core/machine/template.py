"""The commented cluster file that ``onega cluster init`` writes."""

from __future__ import annotations

from typing import Final

TEMPLATE: Final = """\
# A machine for `onega simulate --cluster FILE`. Lines that begin with "#" and a letter or bracket
# are settings that are off: take the "#" away to use them. docs/machine.md has the exact rules.
# Durations are seconds, or text: "90s", "15m", "12h", "7d". Memory: "64GiB". Power: watts.

# Processors. May be left out where nodes or partitions say it, or where the log does.
procs = 128

# Which nodes a job gets: first-fit, best-fit or spread; and whether it gets whole ones.
#placement = "first-fit"
#whole_nodes = false

# Most watts of the machine: a number, times of day with watts, or [seconds, watts] pairs.
#power_cap = { "08:00" = 10000.0, "20:00" = 12800.0 }

# ---- Clock and power, per processor ---------------------------------------------------------

# Service rates and the rule that switches between them: none, queue or workload with k_low and
# k_high, random with p_low and p_high.
#[rate_control]
#kind = "queue"
#rates = [1.0, 1.3]
#k_low = 5
#k_high = 20

# What a processor draws, busy and idle: one number, or one for each rate.
#[power]
#busy = 100.0
#idle = 50.0

# What idle processors do (whole nodes, if nodes are described): states from the lightest to the
# deepest. wake_ahead wakes the processors of the first waiting job's reservation in time for it.
#[sleep]
#wake_ahead = false
#[[sleep.states]]
#timeout = "10m"
#power = 10.0
#delay = "30s"
#wake_power = 80.0
#[[sleep.states]]
#timeout = "1h"
#power = 2.0
#delay = "3m"
#wake_power = 90.0

# ---- Nodes and resources --------------------------------------------------------------------

# Groups of equal nodes, numbered from 1 in this order. Without them processors are one pool.
#[[nodes]]
#count = 12
#procs = 8
#memory = "64GiB"
#[[nodes]]
#count = 4
#procs = 8
#memory = "256GiB"
#gpus = 4
#resources = { ssd = 2 }

# What the whole machine has; who needs it says `onega simulate --demands FILE`.
#[resources]
#matlab = 16

# ---- Partitions, queues, limits -------------------------------------------------------------

# Dedicated parts: name is the number in the log's partition field, or the log's own name for it.
# Give nodes if nodes are described, else procs. default takes jobs of all other partitions.
#[[partitions]]
#name = 1
#nodes = "1-12"
#policy = "easy"
#default = true
#[[partitions]]
#name = 2
#nodes = "13-16"
#policy = "fcfs+conservative"
#placement = "best-fit"
#whole_nodes = true

# Queues over the machine: higher priority first, whatever the order of the policy.
#[[queues]]
#name = 1
#priority = 10
#max_time = "1h"
#max_procs = 32
#[[queues]]
#name = 2
#priority = 0
#max_jobs = 100
#max_jobs_per_user = 10
#max_procs_per_user = 64
#factor = 0.5
#default = true

# What each user may have at once, in all queues together.
#[user_limits]
#max_jobs = 20
#max_procs = 96

# Weights of the policy "multifactor", as Slurm's priority/multifactor has them.
#[multifactor]
#age = 1000
#max_age = "7d"
#size = 1000
#fair_share = 10000
#queue = 1000
#half_life = "7d"
#period = "5m"
#shares = { 17 = 3.0 }

# ---- What goes wrong, what takes longer -----------------------------------------------------

# Failures of nodes (of processors, without nodes): exponential(mean=), weibull(shape=, mean=),
# lognormal(sigma=, median=), gamma(shape=, mean=), or a fixed duration. --seed repeats them.
#[failures]
#time_to_failure = "weibull(shape=0.7, mean=60d)"
#time_to_repair = "lognormal(sigma=1.0, median=4h)"

# What becomes of interrupted jobs: lost, requeue, or checkpoint with an interval of work.
#[interruption]
#rule = "checkpoint"
#interval = "1h"

# Seconds that hold a job's processors before and after its work; for the policy slurm also what
# a submission takes, how long after a job's end its nodes begin to report, and each report.
#[overheads]
#launch = "gamma(mean=2, sd=1)"
#completion = "1s"
#submission = "0.5s"
#release = "0.5s"
#report = 0.01
"""
