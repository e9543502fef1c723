"""Kernels of users who react to the queue."""
