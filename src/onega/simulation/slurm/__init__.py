"""The Python side of the model of Slurm's scheduler."""
