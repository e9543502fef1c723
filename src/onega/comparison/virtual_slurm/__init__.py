"""A real Slurm on virtual nodes."""
