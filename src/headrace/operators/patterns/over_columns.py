"""Conditions over columns: asked for a block of events at once, before these are matched.

The answers of an event wait with it. They are a number: the answer of a condition is the bit of the
condition's number, and the bits above say of which conditions they are. An event whose answers are
not known, or are those of an earlier program, is asked alone, when a partial match needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import TypeMismatchError
from headrace.operators.patterns.conditions import And, Condition, Not, Or, Predicate

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    AnswerArray = np.ndarray[Any, np.dtype[np.int64]]
    Flags = np.ndarray[Any, np.dtype[np.bool_]]

MOST_CONDITIONS = 32
"""So many bits of a number are the answers."""

UNKNOWN = -1
"""The answers of an event that must be asked alone."""

Evaluate = Callable[[Any], Sequence[Any]]
"""Takes a record batch, and returns a boolean Arrow array for each condition, without nulls."""


class ColumnConditions(Protocol):
    """All conditions over columns of a pattern, in the order of their numbers."""

    @property
    def schema(self) -> Any:
        """The Arrow schema of the columns that they read."""

    @property
    def places(self) -> tuple[int, ...]:
        """Where an event has the values of these columns."""

    @property
    def of_rows(self) -> bool:
        """Whether an event is a ``Row``; otherwise it is a tuple."""

    @property
    def version(self) -> int:
        """A number below 2**31 that is another one for other conditions."""

    def compile(self, number: int | None = None) -> Evaluate:
        """Return what evaluates all conditions, or the one of a number."""


@dataclass(frozen=True)
class OverColumns(Condition):
    """A condition over columns, by its number."""

    number: int
    text: str

    def compile(self) -> Predicate:
        number, bit = self.number, 1 << self.number

        def holds(event: Any, context: AnsweringContext) -> Any:
            answers = context.answers
            return answers & bit if answers != UNKNOWN else context.ask(event, number)

        return holds

    def __str__(self) -> str:
        return self.text


class Answers:
    """Evaluates the conditions over columns of a task."""

    def __init__(self, conditions: ColumnConditions) -> None:
        self._conditions, self._version = conditions, conditions.version
        self._evaluate = conditions.compile()
        self._empty = self._version << MOST_CONDITIONS
        self._alone: dict[int, Evaluate] = {}

    def of_records(self, events: Sequence[Any]) -> AnswerArray:
        """Return the answers of events."""
        try:
            return self._of(self._batch(events))
        except Exception:  # of one event: ``ask`` says it, if it is needed
            return self._of_halves(events, self.of_records)

    def of_columns(self, columns: Columns) -> AnswerArray:
        """Return the answers of events that are columns."""
        try:
            return self._of(self._selected(columns.batch))
        except Exception:  # see above
            return self._of_halves(columns, self.of_columns)

    def known(self, answers: int) -> int:
        """Return answers that waited, if they are those of these conditions; else UNKNOWN."""
        return answers if answers >> MOST_CONDITIONS == self._version else UNKNOWN

    def ask(self, event: Any, number: int) -> bool:
        """Return the answer of one condition for one event.

        Raises:
            TypeMismatchError: the event has other fields than its type says.
        """
        evaluate = self._alone.get(number)
        if evaluate is None:
            evaluate = self._alone[number] = self._conditions.compile(number)
        (found,) = evaluate(self._batch([event]))
        answer: bool = found[0].as_py()
        return answer

    def _of(self, batch: Any) -> AnswerArray:
        import numpy as np

        answers = np.full(batch.num_rows, self._empty, np.int64)
        for number, found in enumerate(self._evaluate(batch)):
            answers |= found.to_numpy(zero_copy_only=False).astype(np.int64) << number
        return answers

    @staticmethod
    def _of_halves(events: Any, ask: Callable[[Any], AnswerArray]) -> AnswerArray:
        import numpy as np

        if len(events) == 1:
            return np.array([UNKNOWN])
        half = len(events) // 2
        return np.concatenate([ask(events[:half]), ask(events[half:])])

    def _selected(self, batch: Any) -> Any:
        """Return the columns that the conditions read: by their names, or else by their places."""
        names = self._conditions.schema.names
        if not {*names} - {*batch.schema.names}:
            return batch.select(names)
        found = batch.select([*self._conditions.places])
        return found.rename_columns(names)

    def _batch(self, events: Sequence[Any]) -> Any:
        import pyarrow as pa

        unreadable = (LookupError, AttributeError, TypeError, ArithmeticError, pa.ArrowException)

        schema = self._conditions.schema
        try:
            records = [each._values for each in events] if self._conditions.of_rows else events
            arrays = [
                pa.array([each[place] for each in records], field.type)
                for place, field in zip(self._conditions.places, schema, strict=True)
            ]
        except unreadable as error:
            raise TypeMismatchError(
                "an event is not of the type of its stream, so a condition over columns cannot"
                f" read it: {error}",
                where={"columns": ", ".join(f"{each.name} {each.type}" for each in schema)},
            ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class AnsweringContext:
    """What conditions over columns ask of the event that is matched."""

    __slots__ = ("answers", "asked")

    answers: int

    def __init__(self, asked: Answers | None) -> None:
        self.answers, self.asked = UNKNOWN, asked

    def ask(self, event: Any, number: int) -> bool:
        """Return the answer of one condition, for an event without answers."""
        assert self.asked is not None, "the pattern has conditions over columns"
        return self.asked.ask(event, number)


def may_hold(condition: Condition, answers: AnswerArray) -> tuple[Flags, bool]:
    """Return for which events a condition may hold, and whether it does hold for those.

    A condition that is a function may hold for each. So may any other for events without answers.
    """
    import numpy as np

    unknown = answers == UNKNOWN
    flags, is_certain = _may_hold(condition, answers)
    return np.logical_or(flags, unknown), is_certain and not unknown.any()


def _may_hold(condition: Condition, answers: AnswerArray) -> tuple[Flags, bool]:
    import numpy as np

    match condition:
        case OverColumns():
            return (answers >> condition.number & 1).astype(np.bool_), True
        case And() | Or():
            join = np.logical_and if isinstance(condition, And) else np.logical_or
            parts = [_may_hold(part, answers) for part in condition.parts]
            return join.reduce([flags for flags, _ in parts]), all(each for _, each in parts)
        case Not():
            flags, is_certain = _may_hold(condition.condition, answers)
            if is_certain:
                return np.logical_not(flags), True
    return np.ones(len(answers), np.bool_), False
