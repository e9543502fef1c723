"""Commands under the heading "Theory"."""
