"""Commands under the heading "To look at"."""
