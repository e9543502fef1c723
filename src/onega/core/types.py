"""Types that many modules name: arrays, and what is told of progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from onega.kernels.types import Flags as Flags
from onega.kernels.types import Floats as Floats
from onega.kernels.types import Ints as Ints
from onega.kernels.types import Records as Records

Array = npt.NDArray[Any]
"""Of any dtype."""

Progress = Callable[[float], None]
"""Called now and then with the share that is done, 0 to 1."""
