"""Models of widths and run times: chains, context trees, learned ones."""
