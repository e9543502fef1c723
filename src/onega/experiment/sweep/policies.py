"""Policies of a sweep: each under one name, the one that it has everywhere in Onega.

``easy`` and ``fcfs+easy`` are one policy; tables, keys and manifests call it ``fcfs+easy``, as
`onega.replicate` does. A `onega.Policy`, a `onega.Priority` or a plain function is called by its
own name, and what it does is part of the digest of its runs; so is what a slurm.conf says.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from onega.core.errors import ExperimentError, OnegaError
from onega.core.policy import Policy, Priority

if TYPE_CHECKING:
    from onega.experiment.sweep.spec import Spec

KEY: Final = "policy"
ABOUT: Final = "policy:"
"""Before a policy's name in a manifest, where its digest is."""


def name_policies(spec: Spec) -> Spec:
    """Return the spec with policies by name, and what each name stands for."""
    found: dict[str, Policy] = {}

    def named(value: Any) -> str:  # noqa: ANN401
        policy = Policy.parse(value, folder=spec.folder)
        name = str(policy)
        if found.setdefault(name, policy) != policy:
            raise ExperimentError(
                f"{KEY}: two different policies are called {name!r}; a Priority takes a name of "
                "its own, and knowledge is a key beside policy"
            )
        return name

    return _renamed(spec, named, found)


def _renamed(spec: Spec, named: Callable[[Any], str], found: Mapping[str, Policy]) -> Spec:
    def changed(settings: Mapping[str, Any]) -> dict[str, Any]:
        return {key: named(one) if key == KEY else one for key, one in settings.items()}

    def listed(settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: _distinct([named(one) for one in values]) if key == KEY else values
            for key, values in settings.items()
        }

    random = spec.random
    if random is not None:
        random = replace(random, keys=listed(random.keys))
    return replace(
        spec,
        fixed=changed(spec.fixed),
        grid=listed(spec.grid),
        cases=tuple(changed(case) for case in spec.cases),
        random=random,
        policies=found,
    )


def _distinct(names: list[str]) -> tuple[str, ...]:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ExperimentError(f"{KEY} has {name!r} twice; every run would be made twice")
    return tuple(names)


def digests(policies: Mapping[str, Policy]) -> dict[str, str]:
    """Digest those policies whose names don't say everything about them."""
    return {
        f"{ABOUT}{name}": hashlib.sha256(_told(policy).encode()).hexdigest()
        for name, policy in policies.items()
        if not _said_by_name(name, policy)
    }


def _said_by_name(name: str, policy: Policy) -> bool:
    """Tell whether a policy's name is enough to make it, without any file."""
    try:
        return Policy.parse(name, folder=None) == policy
    except OnegaError:
        return False


def _told(policy: Policy) -> str:
    """Write everything that a policy does: of a function its code and what it closes over."""
    order = policy.order
    if isinstance(order, Priority):
        function = order.function
        try:
            code = inspect.getsource(function)
        except (OSError, TypeError):
            inner = getattr(function, "__code__", None)
            code = repr(function) if inner is None else f"{inner.co_code!r}{inner.co_consts!r}"
        cells = getattr(function, "__closure__", None) or ()
        closed = [repr(cell.cell_contents) for cell in cells]
        order = repr((order.name, order.static, code, closed))
    return repr((order, policy.backfill, policy.knowledge, policy.slurm))
