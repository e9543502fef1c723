"""Workload models: learn a log, make more of it."""
