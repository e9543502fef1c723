"""Figures of the stability of a machine: ρ, C and the usable share against its size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from onega.core.errors import QueueingError
from onega.figures.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LOG_TICKS,
    ORANGE,
    RED,
    axis,
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
    figure = go.Figure(
        go.Scatter(
            x=curve["procs"],
            y=curve["rho"],
            mode="lines",
            line={"color": BLUE, "width": 2.5},
            showlegend=False,
            hovertemplate="%{x:,} servers: ρ = %{y:.4f}<extra></extra>",
        )
    )
    figure.add_scatter(
        x=[result.procs],
        y=[result.rho],
        mode="markers",
        marker={"color": RED if result.rho >= 1 else GREEN, "size": 11},
        name=f"this machine: {result.procs:,} servers, ρ = {result.rho:.3g}",
        hovertemplate="this machine: ρ = %{y:.4f}<extra></extra>",
    )
    if result.formula_min_procs is not None:
        figure.add_vline(x=result.formula_min_procs, line={"color": GREY, "dash": "dot"})
        figure.add_annotation(
            x=_position(result.formula_min_procs, curve),
            y=0.6,
            yref="paper",
            yanchor="middle",
            text=f"fewest: {result.formula_min_procs:,}",
            xanchor="left",
            xshift=6,
            showarrow=False,
            font={"size": 12, "color": INK},
        )
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
    figure = go.Figure(
        [
            go.Scatter(
                x=curve["procs"],
                y=curve["C"],
                mode="lines",
                name="C, first come, first served",
                line={"color": BLUE, "width": 2.5},
                hovertemplate="%{x:,} servers: C = %{y:.6g}<extra></extra>",
            ),
            go.Scatter(
                x=curve["procs"],
                y=result.widths.mean / curve["procs"],
                mode="lines",
                name="E[N]/s, if no server ever idled",
                line={"color": ORANGE, "width": 2, "dash": "dash"},
                hovertemplate="%{x:,} servers: E[N]/s = %{y:.6g}<extra></extra>",
            ),
            go.Scatter(
                x=[result.procs],
                y=[result.C],
                mode="markers",
                name=f"this machine: C = {result.C:.4g}",
                marker={"color": RED, "size": 10},
                hovertemplate="this machine: C = %{y:.6g}<extra></extra>",
            ),
        ]
    )
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
    figure = go.Figure(
        go.Scatter(
            x=curve["procs"],
            y=100 * usable,
            mode="lines",
            line={"color": BLUE, "width": 2.5},
            fill="tozeroy",
            fillcolor="rgba(0,114,178,0.12)",
            name="can be used, measured" if measured else "can be used, by the formula",
            hovertemplate="%{x:,} servers: %{y:.1f} % usable<extra></extra>",
        )
    )
    top = 101.0
    if result.offered_load is not None:
        asked = 100 * result.offered_load * result.procs / curve["procs"]
        top = max(top, min(150.0, 105 * result.offered_load))
        figure.add_scatter(
            x=curve["procs"],
            y=asked,
            mode="lines",
            line={"color": ORANGE, "width": 2, "dash": "dash"},
            name="asked for",
            hovertemplate="%{x:,} servers: %{y:.1f} % asked for<extra></extra>",
        )
    if result.window_load is not None and result.peak_load == result.window_load:
        top = max(top, min(150.0, 105 * result.window_load))
        figure.add_scatter(
            x=curve["procs"],
            y=100 * result.window_load * result.procs / curve["procs"],
            mode="lines",
            line={"color": RED, "width": 2, "dash": "dot"},
            name="asked for while the log shows it filled",
            hovertemplate="%{x:,} servers: %{y:.1f} % asked for, while filled<extra></extra>",
        )
    figure.add_scatter(
        x=[result.procs],
        y=[100 * result.utilisation_at_limit],
        mode="markers",
        marker={"color": RED if result.stable is False else GREEN, "size": 11},
        name=f"this machine: {100 * result.unused_share:.3g} % can't be used",
        hovertemplate="this machine: %{y:.1f} % usable<extra></extra>",
    )
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
