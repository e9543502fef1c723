"""The page: logs, runs, models and sizing in a browser, and the same as JSON (layer: app)."""
