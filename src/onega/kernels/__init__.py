"""Compiled algorithms on plain arrays: numbers in, numbers out (layer: kernels)."""
