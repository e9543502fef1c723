"""A schedule and its measures."""
