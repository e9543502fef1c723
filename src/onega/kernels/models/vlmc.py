"""Walking several context trees that look back at each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.models.chain import pick


class Trees(NamedTuple):
    """Context trees one after another.

    Attributes
    ----------
    children
        Node × symbol → child within its tree, −1 if the context isn't known.
    cumulative
        Node × symbol → cumulative probability of the next symbol.
    begins
        Where each tree's nodes begin.
    """

    children: np.ndarray
    cumulative: np.ndarray
    begins: np.ndarray


@kernel
def walk(trees: Trees, spec: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Draw the symbols of every attribute, step by step.

    ``spec[a, d]`` is the (attribute, lag) that attribute a's tree asks at depth d, −1 at the end;
    lag 0 is an attribute drawn earlier in the same step. Before the beginning nothing is known, and
    the longest context known so far decides.
    """
    attributes, n = uniforms.shape
    path = np.empty((attributes, n), np.int64)
    for i in range(n):
        for a in range(attributes):
            begin = trees.begins[a]
            node = 0
            for d in range(spec.shape[1]):
                which = spec[a, d, 0]
                back = i - spec[a, d, 1]
                if which < 0 or back < 0:
                    break
                child = trees.children[begin + node, path[which, back]]
                if child < 0:
                    break
                node = child
            path[a, i] = pick(trees.cumulative[begin + node], uniforms[a, i])
    return path
