"""Many runs: saturation, replicates, sweeps, plans."""
