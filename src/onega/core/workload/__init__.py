"""A log of jobs: its table, what is known beside it, and what was changed in it."""
