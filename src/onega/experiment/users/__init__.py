"""Users who see the queue: feedback measured and closed loops."""
