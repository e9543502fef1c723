"""Sections of a report, by the question that they answer."""
