"""The Python side of the machine in detail: prepare, run, result."""
