"""Models of users: groups, their kinds of jobs, their sessions."""
