"""The nouns: values that are checked once and never change (layer: core)."""
