"""Attributes that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):
    """`functools.cached_property` without its lock.

    Up to Python 3.11 that holds one lock for all objects of a class while it makes an attribute, so
    that threads with a schedule each wait for one another. Here two threads that ask the same
    object at the same time may both make it; one of the two is kept.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # An attribute of the object itself goes before this one from now on.
        made: T = vars(instance).setdefault(self.name, self.make(instance))
        return made
