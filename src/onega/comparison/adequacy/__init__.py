"""How far a model's schedule is from the real one."""
