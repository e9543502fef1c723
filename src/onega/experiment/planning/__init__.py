"""The machine, policy or load that meets targets, and trade-offs."""
