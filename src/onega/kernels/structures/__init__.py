"""Data structures that the simulators share: heap, sorted runs, waiting line, profile."""
