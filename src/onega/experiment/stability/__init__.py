"""The stability boundary: formulas and the saturated simulator behind one function."""
