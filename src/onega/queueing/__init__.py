"""Formulas of queueing theory for machines whose jobs hold several processors at once."""
