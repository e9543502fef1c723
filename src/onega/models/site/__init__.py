"""The whole-site generator: users' weeks under a regulated total."""
