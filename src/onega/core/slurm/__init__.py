"""Parameters of Slurm's scheduler as data."""
