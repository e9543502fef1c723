"""The tables and figures of Song's thesis, ours beside the printed values."""
