"""A pool of equal processors: the recursion and the event loops."""
