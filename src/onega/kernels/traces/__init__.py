"""Kernels of the readers."""
