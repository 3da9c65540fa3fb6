"""Functions of pairs of records, and of groups of records, of two streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.common._timestamp_column import field_of
from headrace.common.typeinfo import RowTypeInfo, Types
from headrace.common.types import row_of
from headrace.datastream._functions.function import Function
from headrace.errors import PlanError
from headrace.operators.joins.fields import JoinedField

FieldNames = Iterable[str] | Mapping[str, str]


class JoinFunction(Function):
    """Joins two records to one."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """Return the result for a pair.

        In an as-of join ``second`` is None if no record matches.
        """


class JoinFields(JoinFunction):
    """Joins two records to a row of their fields: ``JoinFields(["user", "amount"], ["clicks"])``.

    ``first`` and ``second``: lists of field names, or mappings from new names to field names:
    ``{"paid": "amount"}``. It can be used wherever a ``JoinFunction`` can, for records of any kind
    that have the fields. Without a second record its fields are None.

    In a join of tumbling windows whose streams are both columnar and keyed by field name, pairs are
    found and emitted as columns.

    Raises:
        PlanError: no field is given, or two fields have the same name.
    """

    def __init__(self, first: FieldNames = (), second: FieldNames = ()) -> None:
        self.fields = tuple(
            JoinedField(name, side, field)
            for side, given in enumerate((first, second))
            for name, field in _name_fields(given)
        )
        names = self.names = tuple(each.name for each in self.fields)
        if not names:
            raise PlanError("JoinFields() has no field", hint='JoinFields(["user"], ["clicks"])')
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PlanError(
                f"two fields of a join are called {twice[0]!r}",
                hint=f"give one of them another name: {{'other_{twice[0]}': {twice[0]!r}}}",
            )

    def join(self, first: Any, second: Any) -> Any:
        """Return a ``Row`` with the fields of both records."""
        sides = first, second
        return row_of(
            self.names,
            [
                None if sides[side] is None else field_of(sides[side], name)
                for _, side, name in self.fields
            ],
        )

    def result_type(self, first: Any, second: Any) -> RowTypeInfo | None:
        """Return the type of the result rows; None if an input type is not known."""
        sides = [_types_by_name(each) for each in (first, second)]
        kinds = [sides[side][name] for _, side, name in self.fields if name in sides[side]]
        return Types.ROW_NAMED([*self.names], kinds) if len(kinds) == len(self.names) else None

    def __repr__(self) -> str:
        sides = ({n: f for n, s, f in self.fields if s == side} for side in range(2))
        return f"JoinFields({', '.join(map(repr, sides))})"


def _types_by_name(kind: Any) -> dict[str, Any]:
    if not isinstance(kind, RowTypeInfo):
        return {}
    return dict(zip(kind.get_field_names(), kind.get_field_types(), strict=True))


def _name_fields(given: FieldNames) -> Iterable[tuple[str, str]]:
    if isinstance(given, str):
        given = [given]
    pairs = given.items() if isinstance(given, Mapping) else [(name, name) for name in given]
    for pair in pairs:
        if not all(isinstance(name, str) for name in pair):
            raise PlanError(
                f"JoinFields() takes names of fields, not {pair[1]!r}",
                hint='JoinFields(["user"], ["clicks"])',
            )
    return pairs


class FlatJoinFunction(Function):
    """Joins two records to any number of results."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Return the results for a pair: an iterable, or None.

        In an as-of join ``second`` may be None.
        """


class CoGroupFunction(Function):
    """Emits any number of results for the records of two streams with one key and window."""

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """Return the results for the two groups: an iterable, or None. One group may be empty."""


class ProcessJoinFunction(Function):
    """Joins two records to any number of results, with timestamps and side outputs."""

    class Context(ABC):
        """The context while a pair is processed."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Return the timestamp (ms) of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int | None:
            """Return the timestamp (ms) of the right record.

            In an as-of join it is None if no record matches.
            """

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the timestamp (ms) of the results; in an interval join the later of both."""

    @abstractmethod
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterable[Any] | None:
        """Return the results for a pair: an iterable, or None; ``tag, value`` to a side output."""
