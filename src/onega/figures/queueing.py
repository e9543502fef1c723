"""Figures of the stability of a machine: ρ, C and the usable share against its size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from onega.core.errors import QueueingError
from onega.figures.theme import (
    GREEN,
    GREY,
    LOG_TICKS,
    ORANGE,
    RED,
    axis,
    label,
    line,
    markers,
    reference_line,
    styled,
)

if TYPE_CHECKING:
    import polars as pl

    from onega.queueing.stability import Stability


def rho(result: Stability, sizes: Any = None) -> go.Figure:  # noqa: ANN401
    """ρ against the number of servers: stable below the line at 1."""
    if result.rho is None:
        raise QueueingError("ρ needs the arrival rate and the mean run time; give both")
    curve = result.curve(sizes)
    figure = go.Figure(line(curve["procs"], curve["rho"], "%{x:,} servers: ρ = %{y:.4f}"))
    name = f"this machine: {result.procs:,} servers, ρ = {result.rho:.3g}"
    colour = RED if result.rho >= 1 else GREEN
    hover = "this machine: ρ = %{y:.4f}"
    figure.add_trace(markers([result.procs], [result.rho], hover, colour=colour, name=name))
    if result.formula_min_procs is not None:
        figure.add_vline(x=result.formula_min_procs, line={"color": GREY, "dash": "dot"})
        text, x = (
            f"fewest: {result.formula_min_procs:,}",
            _position(result.formula_min_procs, curve),
        )
        label(figure, text, x, 0.6, yref="paper", yanchor="middle", xanchor="left", xshift=6)
    reference_line(figure, 1.0, "stable below")
    figure.update_xaxes(_servers(curve))
    # Tiny machines have a ρ without bounds; what matters is the neighbourhood of 1.
    top = min(float(curve["rho"].max()), 2.2 * max(result.rho, 1.0))  # type: ignore[arg-type]
    figure.update_yaxes(axis("ρ = λ·C·E[S]"), range=[0, max(1.15, 1.05 * top)])
    note = " (not tested)" if result.formula_holds is None else ""
    if result.formula_holds is False:
        note = ", which this log isn't"
    title = f"ρ by the formula, for exponential run times and independent jobs{note}"
    if result.law != "exponential":
        title = f"ρ by the formula of exponential run times; here the law is {result.law}"
    return styled(figure, title, _law(result))


def constant(result: Stability, sizes: Any = None) -> go.Figure:  # noqa: ANN401
    """C against the number of servers, beside E[N]/s, its value if no server ever idled."""
    curve = result.curve(sizes)
    hover = "%{x:,} servers: C = %{y:.6g}"
    figure = go.Figure(line(curve["procs"], curve["C"], hover, name="C, first come, first served"))
    least, hover = result.widths.mean / curve["procs"], "%{x:,} servers: E[N]/s = %{y:.6g}"
    look: dict[str, Any] = {
        "colour": ORANGE,
        "width": 2,
        "dash": "dash",
        "name": "E[N]/s, if no server ever idled",
    }
    figure.add_trace(line(curve["procs"], least, hover, **look))
    name, hover = f"this machine: C = {result.C:.4g}", "this machine: C = %{y:.6g}"
    figure.add_trace(markers([result.procs], [result.C], hover, colour=RED, size=10, name=name))
    figure.update_xaxes(_servers(curve))
    figure.update_yaxes(
        axis("C, mean service times per job"), type="log", dtick="D2", tickformat=".3~g"
    )
    return styled(figure, "The stability constant", _law(result))


def utilisation(result: Stability, sizes: Any = None) -> go.Figure:  # noqa: ANN401
    """Usable share of the machine under FCFS, and what is asked for, against its size."""
    curve = result.curve(sizes)
    measured = result.measure is not None
    usable = curve["measured"] if measured else curve["utilisation_at_limit"]
    name = "can be used, measured" if measured else "can be used, by the formula"
    filled: dict[str, Any] = {"fill": "tozeroy", "fillcolor": "rgba(0,114,178,0.12)", "name": name}
    hover = "%{x:,} servers: %{y:.1f} % usable"
    figure = go.Figure(line(curve["procs"], 100 * usable, hover, **filled))
    top = 101.0
    if result.offered_load is not None:
        asked = 100 * result.offered_load * result.procs / curve["procs"]
        top = max(top, min(150.0, 105 * result.offered_load))
        look: dict[str, Any] = {"colour": ORANGE, "width": 2, "dash": "dash", "name": "asked for"}
        hover = "%{x:,} servers: %{y:.1f} % asked for"
        figure.add_trace(line(curve["procs"], asked, hover, **look))
    if result.window_load is not None and result.peak_load == result.window_load:
        top = max(top, min(150.0, 105 * result.window_load))
        asked = 100 * result.window_load * result.procs / curve["procs"]
        name = "asked for while the log shows it filled"
        look = {"colour": RED, "width": 2, "dash": "dot", "name": name}
        hover = "%{x:,} servers: %{y:.1f} % asked for, while filled"
        figure.add_trace(line(curve["procs"], asked, hover, **look))
    here = [result.procs], [100 * result.utilisation_at_limit]
    name = f"this machine: {100 * result.unused_share:.3g} % can't be used"
    colour, hover = RED if result.stable is False else GREEN, "this machine: %{y:.1f} % usable"
    figure.add_trace(markers(*here, hover, colour=colour, name=name))
    figure.update_xaxes(_servers(curve))
    figure.update_yaxes(axis("of the machine", "%"), range=[0, top])
    title = "How much of the machine first come, first served can use"
    return styled(figure, title, _law(result))


def _law(result: Stability) -> str:
    widths = result.widths
    name = widths.name if len(widths.name) <= 40 else widths.name[:37] + "…"
    return f"widths: {name}, mean {widths.mean:.3g}, widest {widths.widest:,}"


def _wide(curve: pl.DataFrame) -> bool:
    return bool(curve["procs"][-1] > 8 * curve["procs"][0])


def _servers(curve: pl.DataFrame) -> dict[str, Any]:
    """Return an axis of machine sizes, logarithmic if they differ much."""
    return axis("servers") | (LOG_TICKS if _wide(curve) else {"tickformat": ","})


def _position(servers: int, curve: pl.DataFrame) -> float:
    """Return where an annotation stands: on a logarithmic axis Plotly wants the exponent."""
    return math.log10(servers) if _wide(curve) else float(servers)


KINDS: Final = {"rho": rho, "constant": constant, "utilisation": utilisation}
