"""Onega models supercomputers from their job logs.

Read a log, describe it, fit a workload model to it and generate more of it, simulate a scheduler
and its energy on it, ask queueing theory whether the machine is stable and how large it has to be.

The ones to begin with: `read` a log and `clean` it, `describe` it, `simulate` a policy on a
`Cluster`, ask for `stability` and for a `plan`, `compare` jobs drawn from one of the `models` with
the log, and a simulated `Schedule` with the observed one by `adequacy`. The parts of a machine are
in `onega.machine`, what the verbs return in `onega.results`.

Names are loaded on first use, so that ``import onega`` is quick and a log can be read without
waiting for a compiler. Their one list is ``__init__.pyi`` (scientific Python's SPEC 1).
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, _listed, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__version__"])
