"""The seeds' tables and figures again, ours beside the printed values (layer: app)."""
