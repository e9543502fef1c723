"""M/M/∞ with a random number of servers per request and a limit on execution."""
