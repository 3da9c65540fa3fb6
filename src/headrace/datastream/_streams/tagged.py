"""Records of two streams in common windows: tagged, keyed, and separated again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headrace.datastream._functions.function import RuntimeContext
from headrace.datastream._functions.windows import WindowFunction
from headrace.datastream.functions import KeySelector
from headrace.runtime.user_function import UserFunction, close_function, open_function


class TaggedUnion(NamedTuple):
    """A record and its stream, as assigners, triggers and evictors of a window join receive it."""

    is_first: bool
    value: Any

    def is_one(self) -> bool:
        """Return True for a record of the first stream."""
        return self.is_first

    def is_two(self) -> bool:
        """Return True for a record of the second stream."""
        return not self.is_first

    def get_one(self) -> Any:
        """Return the record of the first stream; None if it is of the second."""
        return self.value if self.is_first else None

    def get_two(self) -> Any:
        """Return the record of the second stream; None if it is of the first."""
        return None if self.is_first else self.value


def tag_one(value: Any) -> TaggedUnion:
    """Return a record of the first stream."""
    return TaggedUnion(True, value)


def tag_two(value: Any) -> TaggedUnion:
    """Return a record of the second stream."""
    return TaggedUnion(False, value)


class TaggedKey(KeySelector):
    """The key of either stream's records, by a selector for each."""

    def __init__(self, first: UserFunction, second: UserFunction) -> None:
        self._selectors = first, second
        self._first, self._second = first.as_callable(), second.as_callable()

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open both selectors."""
        for selector in self._selectors:
            open_function(selector, runtime_context)

    def close(self) -> None:
        """Close both selectors."""
        for selector in self._selectors:
            close_function(selector)

    def get_key(self, value: TaggedUnion) -> Any:
        """Return the record's key."""
        return self._first(value.value) if value.is_first else self._second(value.value)


class CoGroupWindow(WindowFunction[Any, Any, Any, Any]):
    """Calls a function with the records of each stream that lie in a window."""

    def __init__(self, function: UserFunction) -> None:
        self._user_function = function
        self._function = function.as_callable()

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function."""
        open_function(self._user_function, runtime_context)

    def close(self) -> None:
        """Close the user's function."""
        close_function(self._user_function)

    def apply(self, key: Any, window: Any, inputs: Iterable[TaggedUnion]) -> Iterable[Any] | None:
        """Return the results of a window."""
        groups: tuple[list[Any], list[Any]] = [], []
        for record in inputs:
            groups[not record.is_first].append(record.value)
        return self._join_records(*groups)

    def _join_records(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self._function(first, second)
        return results


class JoinWindow(CoGroupWindow):
    """Calls a function with each pair of records that lie in a window."""

    def _join_records(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        function = self._function
        return (function(one, two) for one in first for two in second)


class FlatJoinWindow(CoGroupWindow):
    """The same with a function that gives several results for a pair, or None."""

    def _join_records(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        function = self._function
        for one in first:
            for two in second:
                results = function(one, two)
                if results is not None:
                    yield from results
