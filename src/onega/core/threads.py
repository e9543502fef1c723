"""One thread for linear algebra, so that a seed means the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS and OpenMP work in one thread.

    Libraries add up the parts of a product in an order that follows from the number of threads, so
    that results differ in their last digits between machines, and an optimiser makes of that
    differences at 10⁻¹⁰ and more. The matrices of our models are small: handing out two columns to
    several threads costs ten times the work.
    """
    import scipy.linalg  # noqa: F401  # has a BLAS of its own, limited only once it is there
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
