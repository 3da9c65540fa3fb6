"""The worked example of an operator over changes: sums by key, of rows that may be taken back.

It takes retractions: INSERT and UPDATE_AFTER add their amount, UPDATE_BEFORE and DELETE take theirs
back. It gives upserts: the first sum of a key is an INSERT, another one an UPDATE_AFTER, and a
DELETE says that no row of the key is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import Row, RowKind
from headrace.datastream.connectors._collection import CollectionSource
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES

SUM = RESERVED_NAMES + "sum"
TAKEN_BACK = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


@dataclass(frozen=True)
class Changes(CollectionSource):
    """A source that says of which kinds its rows are."""

    mode: ChangelogMode | None = None
    bad_record_tag: Any = None

    @property
    def gives(self) -> ChangelogMode | None:
        """The value that was passed in."""
        return self.mode


@dataclass(frozen=True)
class ChangedSumsSpec(OperatorSpec):
    """Gives rows ``(key, sum)`` for rows ``(key, amount)``."""

    traits = Traits(keyed=True, state=True)
    kind = "changed-sums"
    label = "ChangedSums"

    def accepts(self, input: int) -> ChangelogMode:
        """Retractions: a sum needs the row that it takes back."""
        return ChangelogMode.all()

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode:
        """Upserts by key."""
        return ChangelogMode.upsert()

    def build(self) -> Operator:
        """A new operator."""
        return ChangedSumsOperator()


class ChangedSumsOperator(StatefulOperator):
    """Keeps, per key, the pair (number of rows, sum)."""

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Say what is kept."""
        super().open(node, context, key_context)
        assert context.states is not None, "the operator is keyed"
        context.states.declare(SUM)

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process``."""
        self._down = outputs.main
        return self.reject_record

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Emit what becomes of a key's sum, row by row."""
        backend = self.key_context.backend
        for number, (key, row) in enumerate(zip(keys, values, strict=True)):
            entry = backend.enter(key)
            before = entry.get(SUM, (0, 0))
            sign = -1 if row.get_row_kind() in TAKEN_BACK else 1
            rows, total = before[0] + sign, before[1] + sign * row[1]
            if rows:
                entry[SUM] = (rows, total)
            else:
                entry.pop(SUM, None)
            backend.changed(key)
            kind = RowKind.UPDATE_AFTER if before[0] else RowKind.INSERT
            timestamp = timestamps[number] if timestamps else None
            self._down(Row.of_kind(kind if rows else RowKind.DELETE, key, total), timestamp)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """It sets none."""
