"""Models with published parameters: Lublin, Downey, Feitelson, Jann."""
