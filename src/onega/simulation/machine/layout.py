"""The detailed machine's nodes, partitions and machine-wide resources as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster
from onega.core.machine.nodes import PLACEMENTS, NodeGroup, Partition, detailed_policy, numbers
from onega.core.policy import MULTIFACTOR, Policy
from onega.core.types import Array, Floats, Ints
from onega.kernels.machine import codes
from onega.kernels.machine.state import PARTITION
from onega.simulation.machine.problem import Nodes

POWER = "power"
"""How the machine-wide resource of a power cap is called."""

RESERVATIONS = {None: codes.NO_BACKFILL, "easy": 1, "conservative": codes.ALL_RESERVED}


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What jobs are placed on.

    Attributes
    ----------
    resources
        Names of what nodes have, processors first.
    shared
        Names of what the machine has as a whole; the power cap, if there is one, last.
    nodes
        Of the problem; without a power cap's capacity, which depends on the time.
    partitions, policies
        At least one each, in the order of the cluster.
    """

    cluster: Cluster
    resources: tuple[str, ...]
    shared: tuple[str, ...]
    nodes: Nodes
    partitions: tuple[Partition, ...]
    policies: tuple[Policy, ...]

    def rules(self, orders: Sequence[int]) -> Array:
        """Return the rules of each partition (``PARTITION``), by the codes of their orders."""
        cluster = self.cluster
        rules = np.zeros(len(self.partitions), PARTITION)
        rules["order"] = orders
        rules["reservations"] = [RESERVATIONS[policy.backfill] for policy in self.policies]
        rules["placement"] = [
            PLACEMENTS.index(one.placement or cluster.placement) for one in self.partitions
        ]
        if not self.nodes.pooled:
            rules["whole"] = [
                cluster.whole_nodes if one.whole_nodes is None else one.whole_nodes
                for one in self.partitions
            ]
        return rules

    @property
    def has_multifactor(self) -> bool:
        """Whether any partition goes by the multifactor priority."""
        return any(policy.order == MULTIFACTOR for policy in self.policies)

    @property
    def groups(self) -> tuple[Floats, Ints, Ints]:
        """Return equal nodes together: their capacity, partition and number."""
        nodes = self.nodes
        if len(self.partitions) == 1 and (nodes.capacity == nodes.capacity[0]).all():
            return nodes.capacity[:1], nodes.partition[:1], np.array([nodes.partition.size])
        keyed = np.column_stack([nodes.partition, nodes.capacity])
        kinds, counts = np.unique(keyed, axis=0, return_counts=True)
        return kinds[:, 1:], kinds[:, 0].astype(np.int64), counts

    @property
    def watts(self) -> float:
        """Watts that a busy processor draws above an idle one, at most."""
        power = self.cluster.power
        if power is None:
            return 0.0
        busy, idle = power.at(len(self.cluster.rates.rates))
        sleep = self.cluster.sleep
        waking = max((state.wake_power for state in sleep.states), default=0.0) if sleep else 0.0
        return max(max(on, waking) - off for on, off in zip(busy, idle, strict=True))

    @property
    def idle_watts(self) -> float:
        """Watts that the machine draws when it does nothing, at most."""
        power = self.cluster.power
        return 0.0 if power is None else self.cluster.procs * max(power.idle)


def make_layout(cluster: Cluster, policy: Policy, *, real: bool, capped: bool) -> Layout:
    """Lay a machine out.

    Parameters
    ----------
    cluster, policy
        The machine, and the policy of partitions that have none of their own.
    real
        Whether nodes are told apart although the cluster doesn't describe any: each processor is
        one then.
    capped
        Whether there is a power cap.
    """
    groups = tuple(cluster.nodes)
    everything = Partition("machine", procs=cluster.procs, default=True)
    partitions = tuple(cluster.partitions) or (everything,)
    if real and not groups:
        groups = (NodeGroup(cluster.procs),)
    if not groups:
        names: tuple[str, ...] = ("procs",)
        owner = np.arange(len(partitions))
        capacity = np.array([[float(one.procs or 0)] for one in partitions])
    else:
        names = tuple(dict.fromkeys(name for group in groups for name in group.amounts))
        owner = _owners(partitions, sum(group.count for group in groups))
        capacity = np.repeat(
            [[group.amounts.get(name, 0.0) for name in names] for group in groups],
            [group.count for group in groups],
            axis=0,
        )
    both = sorted(set(names) & {*cluster.resources, POWER})
    if both or POWER in cluster.resources:
        clash = both[0] if both else POWER
        raise SimulationError(f"resources: {clash!r} is the name of something else; rename it")
    shared = (*cluster.resources, *((POWER,) if capped else ()))
    amounts = np.array([cluster.resources.get(name, np.inf) for name in shared], dtype=np.float64)
    chosen = tuple(detailed_policy(one.policy or policy) for one in partitions)
    chosen = tuple(
        one if one.knowledge == policy.knowledge else one.knowing(policy.knowledge)
        for one in chosen
    )
    nodes = Nodes(not groups, owner, np.array(capacity, dtype=np.float64), amounts)
    return Layout(cluster, names, shared, nodes, partitions, chosen)


def _owners(partitions: tuple[Partition, ...], count: int) -> Ints:
    """Return the partition of each node: as described, or one processor after the other."""
    if any(one.nodes is None for one in partitions):
        if len(partitions) == 1:
            return np.zeros(count, np.int64)
        return np.repeat(np.arange(len(partitions)), [one.procs or 0 for one in partitions])
    owner = np.full(count, -1, np.int64)
    for number, one in enumerate(partitions):
        owner[np.array(numbers(one.nodes or "")) - 1] = number
    return owner
