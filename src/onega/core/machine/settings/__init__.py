"""A machine described by settings: a TOML file, flags, a sweep's keys, a request of the page.

`description` is the one description of them, `reading` checks them, `making` makes the machine.
"""
