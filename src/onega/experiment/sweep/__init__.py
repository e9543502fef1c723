"""Thousands of simulations over a grid, in a store that survives a kill."""
