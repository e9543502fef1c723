"""Models of users' estimates of run times."""
