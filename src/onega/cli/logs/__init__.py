"""Commands under the heading "Logs"."""
