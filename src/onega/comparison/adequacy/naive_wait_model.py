"""What P is worth: the same measure for a model that knows nothing of scheduling."""

from __future__ import annotations

import numpy as np

from onega.comparison.adequacy.matching import Pairing
from onega.core.types import Floats, Ints


def width_class(procs: Ints) -> Ints:
    """Return ⌊log₂ width⌋ of each job."""
    return np.floor(np.log2(np.maximum(procs, 1))).astype(np.int64)


def baseline_residence(pairs: Pairing) -> Floats:
    """Return residence times if each job waited the real mean of its width class (powers of two).

    The means are taken from the same stream, so this is as good as a model without a queue can
    be; a model of a scheduler that isn't nearer has explained nothing.
    """
    group = width_class(pairs.procs)
    count = np.bincount(group)
    mean = np.bincount(group, pairs.real.wait) / np.maximum(count, 1)
    service = pairs.real.residence - pairs.real.wait
    return mean[group] + service
