"""The scheduler simulator: checks arguments, runs the kernels, returns a Schedule."""
