"""Figures of a comparison of policies: on the log and over replicates of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onega.figures import replicates

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from onega.experiment.replicates.policies import PolicyComparison


def intervals(result: PolicyComparison) -> go.Figure:
    """Draw every measure under every policy: replicates with intervals, the log, what was seen."""
    return replicates.intervals(result.replicates, on_log=result.on_log, observed=result.observed)


def differences(result: PolicyComparison) -> go.Figure:
    """Draw each policy's difference from the first, paired replicate by replicate."""
    return replicates.differences(result.replicates)


KINDS: Final = {
    "intervals": intervals,
    "differences": differences,
}
