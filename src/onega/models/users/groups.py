"""MUGM, the mixed user group model (Song 2006, chapter 5), with users and their sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.random import Generator

from onega.core.errors import ModelError, suggest
from onega.core.types import Floats, Ints
from onega.core.workload.chains import floor_power
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import Observed
from onega.models.parts import Part, Shapes
from onega.models.users.assignment import GroupUsers
from onega.models.users.clusters import UserGrouping, group_jobs
from onega.models.users.mixture import JobMixture

SESSION_GAP = 3600.0
"""Seconds. A longer break between two submissions of one user begins a new session (Zakay and
Feitelson 2012 find sessions at an hour between submissions)."""


GENERATIONS = ("sessions", "literal")
"""Accepted as ``generation=``."""


@dataclass(frozen=True, eq=False)
class UserGroup(Part):
    """One group: what it submits (G_k, f_k, p_k of §5.2.4), its users, and their bursts.

    Attributes
    ----------
    mixture
        G_k, over log₂ width and log₂ run time.
    powers
        f_k, the share of its jobs whose width is a power of two.
    longest
        The longest run time seen, seconds: a Gaussian's tail doesn't know the machine's limit.
    users, counts
        User numbers, and how many jobs each has submitted: p_k is their sum over all jobs.
    begin, end
        When each user came and went, as shares of the log's jobs.
    session
        Lengths of sessions, in jobs.
    between
        Jobs of other users between one job of a session and the next.
    repeat
        Probability that a job within a session is the last one again: same width, similar run time.
    memory
        Correlation of the run times of such neighbours, beyond what the width says.
    """

    KIND: ClassVar[str] = "user-group"
    SHAPES: ClassVar[Shapes] = dict.fromkeys(("users", "counts", "begin", "end"), ("users",))
    mixture: JobMixture
    powers: float
    longest: float
    users: Ints
    counts: Ints
    begin: Floats
    end: Floats
    session: Observed
    between: Observed
    repeat: float
    memory: float

    def _check(self) -> None:
        if self.users.size == 0 or np.any(self.counts < 1):
            raise ModelError("user-group: every user needs at least one job")
        for name in ("powers", "repeat", "memory"):
            if not 0 <= getattr(self, name) <= 1:
                raise ModelError(f"user-group: {name} must lie in [0, 1]")


class _Series(NamedTuple):
    """Jobs by user and submission: places in the log, times, users, whether a session goes on."""

    place: Ints
    user: Ints
    goes_on: Any


@dataclass(frozen=True, eq=False, kw_only=True)
class UserGroups(WorkloadModel):
    """Users in groups, each with its own mixture of jobs; users submit in sessions.

    §5.3 draws the jobs of a group independently and shuffles them. Here every job has a user, whose
    number of jobs follows the log's (a few submit thousands, many a handful: Table 5.1), and who
    submits in sessions of similar jobs. Within a group all jobs still have the law G_k with the
    share f_k of powers of two. ``generation="literal"`` draws as §5.3 says, word by word: n·p_k
    jobs of each group from G_k, rounded, a share f_k of the widths moved to the nearest power of
    two (powers already among them), then picked in an order in which the groups are mixed; no
    sessions, no users, no end of the Gaussians' tails but the machine's width.
    """

    KIND: ClassVar[str] = "user-groups"
    TITLE: ClassVar[str] = "groups of users, each with a mixture of jobs (MUGM)"
    FIGURES: ClassVar[str] = "users_model"
    groups: tuple[UserGroup, ...] = ()
    members: GroupUsers = field()
    generation: str = "sessions"
    without_user: int = 0

    def _check(self) -> None:
        if not self.groups:
            raise ModelError("user-groups: at least one group is needed")
        if self.generation not in GENERATIONS:
            raise ModelError(
                f"user-groups: no generation {self.generation!r}; "
                f"{suggest(self.generation, GENERATIONS)}"
            )

    @staticmethod
    def _fit(
        jobs: Jobs,
        rng: Generator,
        *,
        groups: int = 4,
        seed: int = 0,
        generation: str = "sessions",
    ) -> dict[str, Any]:
        """Group users and describe each group; ``seed`` is that of the clustering and mixtures.

        It is an option of its own, so that one log gives one model.
        """
        fixed = np.random.default_rng(seed)
        grouping = group_jobs(jobs, groups, fixed)
        series = _series(jobs, grouping)
        described = tuple(
            _describe(grouping, series, number, fixed) for number in range(grouping.groups)
        )
        return {
            "groups": described,
            "members": GroupUsers.of(grouping),
            "without_user": grouping.without_user,
            "generation": generation,
        }

    def user_part(self) -> GroupUsers:
        """Assign jobs that another model draws to these users."""
        return self.members

    def _draw(self, n: int, rng: Generator) -> Drawn:
        if self.generation == "literal":
            return self._draw_literally(n, rng)
        counts = np.concatenate([group.counts for group in self.groups])
        jobs = rng.multinomial(n, counts / counts.sum())
        edges = np.cumsum([0, *(group.users.size for group in self.groups)])
        drawn = [
            _draw_group(group, jobs[begin:end], n, rng)
            for group, begin, end in zip(self.groups, edges[:-1], edges[1:], strict=True)
        ]
        position, procs, runtime, user, number = (
            np.concatenate(parts)
            for parts in zip(
                *((*one, np.full(one[0].size, k + 1)) for k, one in enumerate(drawn)), strict=True
            )
        )
        order = np.argsort(position, kind="stable")
        return Drawn(
            np.minimum(procs[order], self.machine),
            runtime[order],
            user=user[order],
            group=number[order],
        )

    def _draw_literally(self, n: int, rng: Generator) -> Drawn:
        """Draw as §5.3 does; ⌊n·p_k⌋ jobs leave some over, which are given to groups by p_k."""
        weight = np.array([group.counts.sum() for group in self.groups], dtype=np.float64)
        share = weight / weight.sum()
        number = np.repeat(np.arange(share.size), np.floor(n * share).astype(np.int64))
        number = np.concatenate((number, rng.choice(share.size, n - number.size, p=share)))
        rng.shuffle(number)
        procs, runtime = np.empty(n), np.empty(n)
        for k, group in enumerate(self.groups):
            mine = number == k
            size = int(mine.sum())
            component = group.mixture.components(rng.random(size))
            normal = rng.standard_normal((2, size))
            width, length = group.mixture.place(component, *normal)
            width = np.maximum(np.floor(np.exp2(width) + 0.5), 1.0)
            rounds = rng.random(size) < group.powers
            procs[mine] = np.where(rounds, np.exp2(np.rint(np.log2(width))), width)
            runtime[mine] = np.maximum(np.floor(np.exp2(length) + 0.5), 1.0)
        return Drawn(np.minimum(procs, self.machine), runtime, group=number + 1)

    def to_polars(self) -> pl.DataFrame:
        """One row per group: its shares and its parameters."""
        total = sum(int(group.counts.sum()) for group in self.groups)
        people = sum(group.users.size for group in self.groups)
        return pl.DataFrame(
            [
                {
                    "group": number,
                    "share_of_jobs": int(group.counts.sum()) / total,
                    "share_of_users": group.users.size / people,
                    "components": group.mixture.weights.size,
                    "powers_of_two": group.powers,
                    "mean_session": group.session.mean,
                    "repeat": group.repeat,
                    "memory": group.memory,
                }
                for number, group in enumerate(self.groups, 1)
            ]
        )


def _series(jobs: Jobs, grouping: UserGrouping) -> _Series:
    known = jobs.user >= 0
    clock = jobs.clock[known]
    order = np.lexsort((np.arange(clock.size), grouping.user))
    user = grouping.user[order]
    goes_on = np.zeros(user.size, dtype=bool)
    goes_on[1:] = (user[1:] == user[:-1]) & (np.diff(clock[order]) <= SESSION_GAP)
    return _Series(order, user, goes_on)


def _describe(grouping: UserGrouping, series: _Series, number: int, rng: Generator) -> UserGroup:
    members = np.flatnonzero(grouping.group == number)
    mine = grouping.group[series.user] == number
    place, user, goes_on = (values[mine] for values in series)
    procs, runtime = grouping.procs[place], grouping.runtime[place]
    total = max(grouping.user.size - 1, 1)
    first = np.searchsorted(user, members, side="left")
    last = np.searchsorted(user, members, side="right") - 1
    starts = np.flatnonzero(~goes_on)
    inner = np.flatnonzero(goes_on)
    between = place[inner] - place[inner - 1] - 1 if inner.size else np.zeros(1)
    repeat, memory = _similarity(procs, runtime, inner)
    return UserGroup(
        mixture=JobMixture.fit(procs, runtime, rng),
        powers=float(np.mean(floor_power(procs) == procs)),
        longest=float(runtime.max()),
        users=grouping.users[members],
        counts=last - first + 1,
        begin=place[first] / total,
        end=place[last] / total,
        session=Observed.of(np.diff(np.append(starts, user.size)), most=200),
        between=Observed.of(between, most=200),
        repeat=repeat,
        memory=memory,
    )


def _similarity(procs: Floats, runtime: Floats, inner: Ints) -> tuple[float, float]:
    """How much neighbours within a session are alike, beyond chance: see `UserGroup`."""
    if inner.size < 2:
        return 0.0, 0.0
    same = procs[inner] == procs[inner - 1]
    shares = np.unique(procs, return_counts=True)[1] / procs.size
    chance = float(np.square(shares).sum())
    repeat = (float(same.mean()) - chance) / (1 - chance) if chance < 1 else 1.0
    alike = inner[same]
    if alike.size < 2:
        return float(np.clip(repeat, 0, 1)), 0.0
    logs = np.log2(runtime)
    widths, place = np.unique(procs, return_inverse=True)
    mean = np.bincount(place, weights=logs) / np.bincount(place, minlength=widths.size)
    rest = logs - mean[place]
    power = float(rest[alike] @ rest[alike] + rest[alike - 1] @ rest[alike - 1]) / 2
    memory = float(rest[alike] @ rest[alike - 1]) / power if power > 0 else 0.0
    return float(np.clip(repeat, 0, 1)), float(np.clip(memory, 0, 1))


def _draw_group(
    group: UserGroup, jobs: Ints, n: int, rng: Generator
) -> tuple[Floats, Floats, Floats, Ints]:
    """Draw a group's jobs: positions among all n, widths, run times, users."""
    total = int(jobs.sum())
    user = np.repeat(np.arange(jobs.size), jobs)
    begins = _session_starts(group, user, rng)
    session = np.cumsum(begins) - 1
    owner = user[begins]
    start = group.begin[owner] + (group.end - group.begin)[owner] * rng.random(owner.size)
    steps = np.where(begins, 0.0, group.between.draw(rng.random(total)))
    walked = np.cumsum(steps)
    position = start[session] * n + walked - walked[begins][session]
    fresh = begins | (rng.random(total) >= group.repeat)
    procs, runtime = _draw_profiles(group, fresh, rng)
    return position, procs, runtime, group.users[user]


def _session_starts(group: UserGroup, user: Ints, rng: Generator) -> Any:  # noqa: ANN401
    """Cut users' jobs into sessions whose lengths follow the log's; every user begins a new one."""
    begins = np.zeros(user.size, dtype=bool)
    begins[:1] = True
    begins[1:] = user[1:] != user[:-1]
    at = 0
    while at < user.size:
        lengths = group.session.draw(rng.random(max(16, int(user.size / group.session.mean))))
        ends = at + np.cumsum(np.maximum(np.rint(lengths), 1).astype(np.int64))
        begins[ends[ends < user.size]] = True
        at = int(ends[-1])
    return begins


def _draw_profiles(group: UserGroup, fresh: Any, rng: Generator) -> tuple[Floats, Floats]:  # noqa: ANN401
    """Widths and run times with the law G_k and the share f_k of powers of two."""
    from onega.kernels.models.sessions import remembered

    total = fresh.size
    source = np.maximum.accumulate(np.where(fresh, np.arange(total), 0))
    component = group.mixture.components(rng.random(total))[source]
    length = remembered(rng.standard_normal(total), np.where(fresh, 0.0, group.memory))
    log_procs, log_runtime = group.mixture.place(
        component, rng.standard_normal(total)[source], length, (0.0, np.log2(group.longest))
    )
    procs = np.maximum(np.floor(np.exp2(log_procs) + 0.5), 1.0)
    runtime = np.maximum(np.floor(np.exp2(log_runtime) + 0.5), 1.0)
    # Some are powers already: round as many of the others as are missing to the share f_k.
    power = floor_power(procs) == procs
    already = float(power.mean()) if total else 1.0
    missing = (group.powers - already) / (1 - already) if already < 1 else 0.0
    rounds = ~power & (rng.random(total)[source] < missing)
    return np.where(rounds, np.exp2(np.rint(np.log2(procs))), procs), runtime
