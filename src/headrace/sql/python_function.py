"""Python functions of users, as statements and plans see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from headrace.operators.columns.accumulator import Accumulator
from headrace.sql.types import SqlType

Kernel = Callable[[Sequence[Any], int, str], Any]
"""Computes a call for a block, from Arrow arrays (or scalars), the number of rows, a time zone.

A scalar function gives an array. A table function gives its rows' columns, and of each row the
number of the input's row that it comes from.
"""


class Implementation(Protocol):
    """What computes a function. One object is one function; each task has its own copy."""

    def open(self, runtime_context: Any) -> None:
        """Prepare the function for a task."""

    def close(self) -> None:
        """Release what the function holds."""

    def kernel(self, call: Signature) -> Kernel:
        """Return what computes a call of the function."""


@dataclass(frozen=True)
class PythonFunction:
    """A function of a user.

    ``parameters``: the types that arguments are converted to; None: they stay as they are.
    ``result``: the type of its results; of a table function, the row type of its rows; of a table
    aggregate function an array of rows.
    """

    name: str
    kind: Literal["scalar", "table", "aggregate", "table aggregate"]
    parameters: tuple[SqlType, ...] | None
    result: SqlType
    deterministic: bool
    implementation: Implementation = field(repr=False)
    """Compared by identity, and left out of texts, so that ids do not depend on it."""


@dataclass(frozen=True)
class Signature:
    """A call's function and types, for its kernel and for errors.

    ``row_names``: the arguments are given as one row, with these names.
    """

    name: str
    arguments: tuple[SqlType, ...]
    result: SqlType
    row_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))}) -> {self.result}"


class AggregateImplementation(Implementation, Protocol):
    """What computes an aggregate function.

    ``vectorised``: it keeps all rows of a group. ``lacks_retract``: it cannot retract rows;
    ``lacks_merge``: accumulators cannot be merged.
    """

    vectorised: bool

    @property
    def lacks_retract(self) -> bool:
        """Whether it cannot retract rows."""

    @property
    def lacks_merge(self) -> bool:
        """Whether accumulators cannot be merged."""

    def accumulator(self, call: Signature, zone: str, *, distinct: bool = False) -> Accumulator:
        """Return the accumulator of a call.

        ``distinct``: the function gets equal arguments once.
        """


class Functions(Protocol):
    """The functions of users that queries name."""

    @property
    def current_database(self) -> str:
        """The database of names that have no database."""

    def system_function(self, name: str) -> PythonFunction | None:
        """Return a temporary system function; None: there is none with the name."""

    def function(self, path: Sequence[str]) -> PythonFunction | None:
        """Return a function of a catalog; None: there is none of the name."""


class NoFunctions:
    """No functions of users."""

    current_database = "default_database"

    def system_function(self, name: str) -> PythonFunction | None:
        """Return None."""
        return None

    def function(self, path: Sequence[str]) -> PythonFunction | None:
        """Return None."""
        return None
