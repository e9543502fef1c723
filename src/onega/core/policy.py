"""Scheduling policies as data: an order, a backfilling rule, and what the scheduler knows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, cast, get_args

from onega.core.errors import PolicyError, suggest
from onega.core.slurm.parameters import SlurmParameters

Knowledge = Literal["estimate", "runtime"]
Ties = Literal["instant", "event"]
Backfill = Literal["easy", "conservative", "easy-2018"]
KeyFunction = Callable[[float, float, float, float], float]

ORDERS: Final = {
    "fcfs": "first come, first served",
    "lcfs": "last come, first served",
    "spf": "shortest (known) work first",
    "lpf": "longest (known) work first",
    "saf": "smallest area (known work × processors) first",
    "xf": "largest expansion factor (wait + estimate) / estimate first",
    "wfp3": "largest (wait / estimate)³ × processors first",
    "unicef": "largest wait / (log₂ processors × estimate) first",
    "f1": "smallest log₁₀(r)·n + 870·log₁₀(s) first",
    "f2": "smallest √r·n + 25 600·log₁₀(s) first",
    "f3": "smallest r·n + 6 860 000·log₁₀(s) first",
    "f4": "smallest r·√n + 530 000·log₁₀(s) first",
    "multifactor": "largest weighted age, size, fair-share and queue first, as Slurm has it",
    "lcfs-pr": "the newest run, as many as fit (preemptive-resume)",
    "spf-pr": "shortest remaining work first, reordered at completions (preemptive-resume)",
    "lpf-pr": "longest remaining work first, reordered at completions (preemptive-resume)",
}
"""The built-in orders. r: what the scheduler knows of the run time; n: processors; s: submission.

F1 to F4 are those of Carastan-Santos and de Camargo (2017); WFP3 and UNICEF of Tang et al. (2009).
"""

CALLED: Final = {
    "fcfs": "first come, first served",
    "lcfs": "last come, first served",
    "spf": "shortest jobs first",
    "lpf": "longest jobs first",
    "saf": "smallest jobs first",
    "multifactor": "by age, size, fair share and queue",
}
"""Orders as people call them, where that is shorter than what they do."""

BACKFILL_WORDS: Final = {
    "easy": "with backfilling",
    "conservative": "with conservative backfilling",
}

PREEMPTIVE: Final = frozenset(name for name in ORDERS if name.endswith("-pr"))
TIME_DEPENDENT: Final = frozenset({"xf", "wfp3", "unicef"})
MULTIFACTOR: Final = "multifactor"
"""The order whose weights are the cluster's (`onega.Multifactor`)."""

SLURM: Final = "slurm"
"""The order of a whole scheduler: a model of Slurm's, with parameters of its own."""

AS_PRINTED: Final = "easy-2018"
"""Backfilling as Rumyantsev et al. (2018) print it: for first come, first served only."""
BACKFILLS: Final = ("easy", "conservative", AS_PRINTED)
TIES: Final = get_args(Ties)
"""Rules for what happens at one instant (docs/conventions.md)."""
ALIASES: Final = {
    "easy": "fcfs+easy",
    "conservative": "fcfs+conservative",
    AS_PRINTED: f"fcfs+{AS_PRINTED}",
    "fifo": "fcfs",
    "sjf": "spf",
    "ljf": "lpf",
}


@dataclass(frozen=True, slots=True)
class Priority:
    """A user's own order: a function of (now, submit, estimate, procs); the smallest goes first.

    Parameters
    ----------
    function
        Plain Python that numba can compile: arithmetic, `math`, comparisons. Seconds and
        processors come in as floats; a float goes out. Equal values go in the order of arrival.
    name
        How it is called in results; the function's own name by default.
    static
        True if the value doesn't depend on ``now``: it is then evaluated once per job instead of
        at every scheduling pass.
    """

    function: KeyFunction
    name: str = ""
    static: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise PolicyError(
                f"a priority must be a function of (now, submit, estimate, procs), "
                f"got {self.function!r}"
            )
        try:
            inspect.signature(self.function).bind(0.0, 0.0, 0.0, 0.0)
        except TypeError:
            raise PolicyError(
                f"a priority function takes four arguments (now, submit, estimate, procs); "
                f"{self._called()} takes {inspect.signature(self.function)}"
            ) from None
        object.__setattr__(self, "name", self._called())

    def _called(self) -> str:
        return self.name or getattr(self.function, "__name__", "priority")


@dataclass(frozen=True, slots=True)
class Policy:
    """What a scheduler does.

    Parameters
    ----------
    order
        A name of `ORDERS`, a `Priority`, or a plain function that becomes one.
    backfill
        None, ``"easy"`` or ``"conservative"``; only for orders that don't preempt.
        ``"easy-2018"`` (only for fcfs): as Rumyantsev et al. (2018) print it.
    knowledge
        ``"estimate"``: the users' estimates, the run time where one is missing; ``"runtime"``:
        perfect knowledge; None: estimates if the log has any.
    slurm
        Parameters of the order ``"slurm"``, the model of Slurm's scheduler; stock if None.

    Examples
    --------
    >>> str(Policy.parse("spf+easy"))
    'spf+easy'
    >>> Policy.parse("easy") == Policy("fcfs", "easy")
    True
    """

    order: str | Priority | KeyFunction = "fcfs"
    backfill: Backfill | None = None
    knowledge: Knowledge | None = None
    slurm: SlurmParameters | None = None

    def __post_init__(self) -> None:
        if self.order == SLURM:
            if self.backfill is not None:
                raise PolicyError("slurm brings its own backfilling; use 'slurm' alone")
            return
        if not isinstance(self.order, str | Priority):
            object.__setattr__(self, "order", Priority(self.order))
        if isinstance(self.order, str) and self.order not in ORDERS:
            raise PolicyError(
                f"unknown order {self.order!r}; {suggest(self.order, ORDERS)}",
            )
        if self.backfill is not None and self.backfill not in BACKFILLS:
            raise PolicyError(
                f"unknown backfilling {self.backfill!r}; {suggest(self.backfill, BACKFILLS)}"
            )
        if self.knowledge not in (None, "estimate", "runtime"):
            raise PolicyError(
                f"unknown knowledge {self.knowledge!r}; "
                f"{suggest(str(self.knowledge), ('estimate', 'runtime'))}"
            )
        if self.backfill == AS_PRINTED and self.order != "fcfs":
            raise PolicyError(
                f"{AS_PRINTED} is printed for first come, first served alone; use {AS_PRINTED!r}, "
                f"or '{self.order}+easy'"
            )
        if self.backfill is not None and self.order in PREEMPTIVE:
            raise PolicyError(
                f"{self.order} preempts, and preemptive orders take no backfilling; "
                f"use {self.order!r} alone, or e.g. 'spf+easy'"
            )

    @classmethod
    def parse(
        cls, text: str | Policy | Priority | KeyFunction, *, folder: Path | None = Path()
    ) -> Policy:
        """Read the text form ``ORDER[+BACKFILL]``; ``easy`` and ``conservative`` mean fcfs+….

        ``slurm``, ``slurm:fine`` and ``slurm:FILE`` are models of Slurm's scheduler with stock
        parameters, with finer ones, and with those of a slurm.conf; its path starts in ``folder``
        (None: no file is read).
        """
        if isinstance(text, Policy):
            return text
        if not isinstance(text, str):
            return cls(text)
        compact = text.strip().lower()
        name, colon, parameters = text.strip().partition(":")
        if name.lower() == SLURM:
            given = parameters if colon else "stock"
            return cls(SLURM, slurm=SlurmParameters.parse(given, folder=folder))
        order, plus, backfill = ALIASES.get(compact, compact).partition("+")
        order = order.strip()
        order = ALIASES.get(order, order) if plus else order
        if order not in ORDERS:
            known = [*ORDERS, *ALIASES, SLURM]
            raise PolicyError(
                f"unknown policy {text!r}; {suggest(order, known)}; "
                "+easy or +conservative after an order"
            )
        if plus and backfill.strip() not in BACKFILLS:
            raise PolicyError(
                f"unknown backfilling in {text!r}; {suggest(backfill.strip(), BACKFILLS)}"
            )
        return cls(order, cast(Backfill, backfill.strip()) if plus else None)

    def knowing(self, knowledge: Knowledge | None) -> Policy:
        """Return the policy with this knowledge; unchanged if None."""
        return self if knowledge is None else replace(self, knowledge=knowledge)

    @property
    def words(self) -> str:
        """Describe the policy to a reader who doesn't know its name.

        Examples
        --------
        >>> Policy.parse("easy").words
        'first come, first served, with backfilling'
        """
        if self.order == SLURM:
            return "as a model of Slurm's scheduler does"
        if isinstance(self.order, str):
            order = CALLED.get(self.order, ORDERS[self.order])
        else:
            order = cast(Priority, self.order).name
        return f"{order}, {BACKFILL_WORDS[self.backfill]}" if self.backfill else order

    @property
    def preemptive(self) -> bool:
        """Whether a running job may be displaced."""
        return self.order in PREEMPTIVE

    def __str__(self) -> str:
        if self.order == SLURM:
            return str(self.slurm or SlurmParameters())
        order = self.order if isinstance(self.order, str) else cast(Priority, self.order).name
        return f"{order}+{self.backfill}" if self.backfill else order
