"""Kernels of the workload models."""
