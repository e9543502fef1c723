"""Plotly figures of the results; each module has a dictionary KINDS (layer: app)."""
