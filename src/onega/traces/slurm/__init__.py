"""Slurm's accounts of its jobs: ``sacct`` output and the ``jobcomp/filetxt`` log."""
