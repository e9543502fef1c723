"""The command ``onega``: it parses, calls and speaks, and computes nothing itself (layer: app)."""

from onega.cli.app import main

__all__ = ["main"]
