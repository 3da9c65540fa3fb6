"""To which group each row of columns goes: by its key, or to a subtask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.keys import ColumnKeys, key_groups
from headrace.runtime.keys.key_groups import KeyGroups

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.exchange.writer import ExchangeWriter
    from headrace.runtime.program import ExchangeProgram


class Routing(ABC):
    """Computes the groups of rows, and their keys; the columnar key selector of an exchange."""

    @abstractmethod
    def groups_of(self, columns: Columns) -> np.ndarray[Any, Any] | None:
        """Return the group of each row, as small integers; None if only the records have it."""

    def keys_of(self, columns: Columns) -> ColumnKeys | None:
        """Return the keys of the rows; None if they have no keys."""
        return None


class ByKey(Routing):
    """Sends each row to the key group of its key, which is in the columns ``names``."""

    def __init__(self, names: tuple[str, ...], groups: int) -> None:
        self._names, self._known = names, KeyGroups(groups)

    def groups_of(self, columns: Columns) -> np.ndarray[Any, Any] | None:
        """Return the key group of each row."""
        return key_groups(ColumnKeys(columns, self._names), self._known)

    def keys_of(self, columns: Columns) -> ColumnKeys:
        """Return the keys of the rows."""
        return ColumnKeys(columns, self._names)


class ToSubtasks(Routing):
    """Rows go to the subtasks that ``exchange.steps.subtask_step`` sends records to."""

    def __init__(self, writer: ExchangeWriter, mode: str) -> None:
        self._writer, self._in_turn = writer, mode == "round-robin"

    def groups_of(self, columns: Columns) -> np.ndarray[Any, Any]:
        """Return the subtask of each row."""
        import numpy as np

        writer, count = self._writer, len(columns)
        small = np.uint8 if writer.groups <= 1 << 8 else np.uint16
        if not self._in_turn:
            return np.full(count, writer.send_context.current_group % writer.groups, small)
        first = writer.round_robin_index + 1 + writer.send_context.sender
        writer.round_robin_index += count
        return ((np.arange(count) + first) % writer.groups).astype(small)


def routing_of(program: ExchangeProgram, writer: ExchangeWriter) -> Routing:
    """Return the routing of an exchange's rows to groups."""
    if program.mode == "key":
        return ByKey(program.key_columns, program.groups)
    return ToSubtasks(writer, program.mode)
