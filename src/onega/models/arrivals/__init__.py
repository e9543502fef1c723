"""Models of arrivals: gaps, daily and weekly cycles."""
