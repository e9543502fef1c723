"""Logs in and out: readers, writers, cleaning, describing (layer: traces)."""
