"""The arrays that kernels take and return."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Records = npt.NDArray[Any]
"""Rows of a structured dtype (`onega.kernels.records`)."""
