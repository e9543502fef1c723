"""The Python side of the pool of equal processors."""
