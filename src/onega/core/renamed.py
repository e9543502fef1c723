"""Keyword names that functions had before; docs/conventions.md has the words that hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def renamed(**words: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function take keywords by their old names too: ``@renamed(level="confidence")``."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            given: dict[str, Any] = {}
            for word, value in kwargs.items():
                name = words.get(word, word)
                if name in given or (name != word and name in kwargs):
                    raise TypeError(
                        f"{function.__name__}() got {name!r} twice ({word!r} is {name!r})"
                    )
                given[name] = value
            return function(*args, **given)

        call.__dict__["renamed"] = words
        return call

    return decorate
