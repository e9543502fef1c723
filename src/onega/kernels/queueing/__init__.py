"""Kernels of the formulas of queueing theory."""
