"""Measures of a schedule in compiled passes."""
