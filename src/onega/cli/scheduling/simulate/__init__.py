"""``onega simulate``: its command, what it reads, what it writes and prints."""

from onega.cli.scheduling.simulate.command import simulate as simulate
