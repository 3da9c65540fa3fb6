"""To which subtask each row of columns goes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.routing import ToSubtasks


@pytest.mark.parametrize("subtasks", [256, 300, 600])
def test_rows_reach_the_last_of_many_subtasks(subtasks: int) -> None:
    sending = SimpleNamespace(sender=0, current_group=subtasks - 1)
    writer: Any = SimpleNamespace(groups=subtasks, send_context=sending, round_robin_index=-1)
    columns = Columns(pa.record_batch({"n": [*range(subtasks)]}))
    in_turn = ToSubtasks(writer, "round-robin").groups_of(columns)
    assert in_turn.tolist() == [*range(subtasks)]
    forward = ToSubtasks(writer, "forward").groups_of(columns)
    assert {*forward.tolist()} == {subtasks - 1}
