"""The FCFS multiserver-job queue with every waiting job's class in the state, cut at a length."""

from __future__ import annotations

import numpy as np


def explicit_chain(
    classes: list[tuple[int, float, float]], servers: int, rate: float, longest: int
) -> tuple[float, float, float]:
    """Mean number waiting, P(wait) and mean number of jobs; classes are (width, p, service rate).

    A state is the sequence of classes in the system in order of arrival; the longest prefix that
    fits is in service.
    """
    states = [()]
    index = {(): 0}
    for state in states:
        if len(state) < longest:
            for c in range(len(classes)):
                grown = (*state, c)
                if grown not in index:
                    index[grown] = len(states)
                    states.append(grown)

    def served(state):
        used = count = 0
        for c in state:
            used += classes[c][0]
            if used > servers:
                break
            count += 1
        return count

    size = len(states)
    flow = np.zeros((size, size))
    wait = np.zeros(size)
    for i, state in enumerate(states):
        busy = served(state)
        for c, (_, p, _) in enumerate(classes):
            if len(state) < longest:
                flow[i, index[*state, c]] += rate * p
            if served((*state, c)) < len(state) + 1:
                wait[i] += p
        for j in range(busy):
            flow[i, index[state[:j] + state[j + 1 :]]] += classes[state[j]][2]
    flow -= np.diag(flow.sum(axis=1))
    system = flow.T
    system[0] = 1.0
    right = np.zeros(size)
    right[0] = 1.0
    share = np.linalg.solve(system, right)
    queue = sum(x * (len(s) - served(s)) for x, s in zip(share, states))
    jobs = sum(x * len(s) for x, s in zip(share, states))
    return float(queue), float(share @ wait), float(jobs)
