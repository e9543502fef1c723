"""A machine described by settings: a TOML file, flags, a sweep's keys, a request of the page.

`keys` is the one description of them, `tables` their types, `making` the machine they make.
"""
