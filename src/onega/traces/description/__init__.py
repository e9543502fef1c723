"""Everything that Song (2006) measures on a log before it models anything."""

from onega.traces.description.description import Description, describe

__all__ = ["Description", "describe"]
