"""`.plot()` on results, without the results knowing how to draw.

Computing and drawing are apart: results live in the lower layers, figures in the app layer. A
result names its figures' module, which is imported when `plot` is called: nothing below imports the
layer above, and a script that draws nothing doesn't load Plotly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from onega.core.errors import suggest

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


class Plottable:
    """A result that can draw itself: ``FIGURES`` names a module of `onega.figures`.

    The module has a dictionary ``KINDS`` of drawing functions; the first is the default.
    """

    __slots__ = ()
    FIGURES: ClassVar[str]

    def plot(self, kind: str | None = None, **options: Any) -> Figure:  # noqa: ANN401
        """Draw: returns a Plotly figure, never shows it.

        Parameters
        ----------
        kind
            Which figure; see `figure_kinds`. The first one by default.
        options
            Passed to the drawing function.
        """
        kinds = self._kinds()
        name = next(iter(kinds)) if kind is None else kind
        if name not in kinds:
            raise ValueError(f"no figure {name!r}; {suggest(name, kinds)}")
        return kinds[name](self, **options)

    def figure_kinds(self) -> tuple[str, ...]:
        """Names of the figures that `plot` can draw."""
        return tuple(self._kinds())

    def _kinds(self) -> dict[str, Any]:
        kinds: dict[str, Any] = import_module(f"onega.figures.{self.FIGURES}").KINDS
        return kinds
