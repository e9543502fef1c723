"""Logs of the Parallel Workloads Archive: which there are, and fetching them."""

from onega.traces.archive.catalogue import BASE_URL, CATALOGUE, ArchiveLog, find
from onega.traces.archive.fetching import cache_directory, fetch

__all__ = ["BASE_URL", "CATALOGUE", "ArchiveLog", "cache_directory", "fetch", "find"]
