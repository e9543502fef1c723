"""How far a model is from the real thing: streams and workloads compared."""
