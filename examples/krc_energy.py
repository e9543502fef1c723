"""Seed 001's experiment: a cluster that slows its clock down when there is little work.

    python examples/krc_energy.py krc2.csv.gz [--out DIR] [--swap-busy-power] [--seed N]

The log is the one of the R package hpcwld (dataset HPC_KRC2): 9389 jobs of the cluster of the
Karelian Research Centre, 80 cores. It is cleaned as the paper asks (the report says how), and then
first come, first served runs on 80 servers with rates 2.0 and 2.66 (GHz), switched by the remaining
work. Three figures, as in the paper, in one page:

1. remaining work, jobs in service and rate over time, k_L = 1e5, k_H = 3e5;
2. processors by job, and each job waiting and running, 500 jobs from number 7000, and again for
   the 500 jobs in a row that waited most;
3. mean power against mean remaining work, for one threshold k = 0, 1e5, …, 3e6.

The paper prints the power of a busy server as e(r_L) = 0.041 and e(r_H) = 0.034, more at the lower
clock. That looks like an exchange of the two: as printed, a higher threshold costs more work in the
system and more power, and there is nothing to trade; exchanged, Figure 3 is the trade-off that the
paper describes. They are used as printed unless --swap-busy-power is given.
Work is in seconds at rate 1, so a job of one second in the log takes half a second at rate 2.0, as
in the paper.
"""

from __future__ import annotations

import argparse

import plotly.graph_objects as go
import polars as pl

import onega
from onega.figures.export import write_html
from onega.figures.theme import BLUE, ORANGE, axis, styled

SERVERS = 80
RATES = (2.0, 2.66)
IDLE = (0.014, 0.018)
BUSY = (0.041, 0.034)
K_LOW, K_HIGH = 1e5, 3e5
THRESHOLDS = tuple(1e5 * step for step in range(31))


def main() -> None:
    """Read, clean, simulate, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", help="hpcwld's HPC_KRC2 as CSV: interarrival, service, cores_used")
    parser.add_argument("--out", default="krc-energy", help="folder of the page (krc-energy)")
    parser.add_argument("--seed", type=int, default=1, help="of the jitter of equal submissions")
    parser.add_argument(
        "--swap-busy-power", action="store_true", help="more power at the high rate"
    )
    options = parser.parse_args()

    log = read(options.trace, options.seed)
    busy = BUSY[::-1] if options.swap_busy_power else BUSY
    power = onega.Power(busy, IDLE)
    print(f"busy power {busy[0]} at rate {RATES[0]}, {busy[1]} at rate {RATES[1]}", end=" ")
    print("(exchanged)" if options.swap_busy_power else "(as printed in the paper)")

    schedule = run(log, K_LOW, K_HIGH, power)
    summary = schedule.summary()
    print(f"\nk_L = {K_LOW:g}, k_H = {K_HIGH:g}:")
    for name in ("jobs", "mean_wait", "utilisation", "rate_changes", "mean_rate", "mean_power"):
        print(f"  {name:13} {summary[name]:.6g}")
    table = trade_off(log, power)
    print("\none threshold k:")
    print(table.gather_every(5))
    # Twenty days around job 7000, in which one sees the rate go up and down; then all of it.
    middle = float(log.column("submit")[7000])
    waited = (schedule.jobs["wait"] > 0)[7000:7500].sum()
    print(f"\nof the 500 jobs of figure 2, {waited} waited; figure-2-busiest shows 500 that did")
    figures = {
        "figure-1": schedule.plot("workload", window=(middle - 10 * 86400, middle + 10 * 86400)),
        "figure-1-whole": schedule.plot("workload"),
        "figure-2": schedule.plot("gantt", jobs=(7000, 500)),
        "figure-2-busiest": schedule.plot("gantt"),
        "figure-3": draw_trade_off(table),
    }
    print(f"\n{write_html(figures, f'{options.out}/krc.html', title='A cluster with two rates')}")


def read(path: str, seed: int) -> onega.Workload:
    """Read the log and clean it, saying what was done."""
    log = onega.read(path)
    for finding in log.meta.report:
        print(f"reading: {finding}")
    cleaned, report = onega.clean(log.with_machine(SERVERS), jitter=True, rng=seed)
    for finding in report:
        print(f"cleaning: {finding}")
    print(f"{len(cleaned)} of {len(log)} jobs are left")
    return cleaned


def run(log: onega.Workload, k_low: float, k_high: float, power: onega.Power) -> onega.Schedule:
    """First come, first served with the workload-aware switching of seed 001, III-C."""
    control = onega.RateControl("workload", rates=RATES, k_low=k_low, k_high=k_high)
    return onega.simulate(log, onega.Cluster(SERVERS, control, power), "fcfs")


def trade_off(log: onega.Workload, power: onega.Power) -> pl.DataFrame:
    """Mean power and mean remaining work for each threshold (seed 001, Figure 3)."""
    rows = []
    for k in THRESHOLDS:
        schedule = run(log, k, k, power)
        summary = schedule.summary()
        rows.append((k, mean_workload(schedule), summary["mean_power"], summary["mean_wait"]))
    names = ["threshold", "mean_workload", "mean_power", "mean_wait"]
    return pl.DataFrame(rows, schema=names, orient="row")


def mean_workload(schedule: onega.Schedule) -> float:
    """Time average of the remaining work, exact: it falls at rate × running between events."""
    gap = pl.col("time").diff().shift(-1).fill_null(0)
    area = pl.col("workload") * gap - pl.col("rate") * pl.col("running") * gap**2 / 2
    total, length = schedule.system.select(area.sum(), gap.sum().alias("length")).row(0)
    return float(total) / float(length)


def draw_trade_off(table: pl.DataFrame) -> go.Figure:
    """Mean power against mean remaining work, one point for each threshold."""
    hours = table["mean_workload"] / 3600
    figure = go.Figure(
        go.Scatter(
            x=hours,
            y=table["mean_power"],
            mode="lines+markers",
            line={"color": BLUE, "width": 1.5},
            marker={"size": 7, "color": BLUE},
            customdata=table["threshold"],
            hovertemplate="k = %{customdata:,.0f}: %{x:.4g} h, %{y:.5g}<extra></extra>",
            showlegend=False,
        )
    )
    for row in (0, 10, 20, table.height - 1):
        k = table["threshold"][row]
        figure.add_annotation(
            x=hours[row], y=table["mean_power"][row], text=f"k = {k:.3g}", arrowcolor=ORANGE
        )
    figure.update_xaxes(axis("mean remaining work", "hours"))
    figure.update_yaxes(axis("mean power", "the paper's unit"))
    note = "one threshold k = k_L = k_H, from 0 (fast whenever there is work) to 3·10⁶ s"
    return styled(figure, "Energy against work in the system", note)


if __name__ == "__main__":
    main()
