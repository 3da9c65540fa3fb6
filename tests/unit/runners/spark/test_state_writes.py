"""The order of records that come from tables, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headrace.errors import CheckpointError, ConfigurationError
from headrace.runners.spark.failures import TaskFailure, failure_in
from headrace.runners.spark.state_writes import RecordWriter, numbered_states, numbered_timers
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.savepoint.arrow import to_batches
from headrace.runtime.savepoint.records import StateRecord, TimerRecord, decode, encode


def state(key: str, position: int = 0, kind: str = "list", **more: Any) -> StateRecord:
    plain = StateRecord(
        "op", "seen", kind, "pickle", 1, encode(key), None, position, None, None, encode(position)
    )
    return plain._replace(**more)


def item(key: str, name: str, position: int = 0) -> StateRecord:
    return state(key, position, "map", item=encode(name))


def test_elements_are_numbered_in_their_order() -> None:
    given = [state("a", 3), state("a", 7), state("b", 2), state("b", 4, namespace=encode(1))]
    found = [(decode(each.key), each.position) for each in numbered_states(given)]
    assert found == [("a", 0), ("a", 1), ("b", 0), ("b", 0)]
    found = [
        (decode(each.key), each.position)
        for each in numbered_states([item("a", "x"), item("a", "y")])
    ]
    assert found == [("a", 0), ("a", 1)]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ([state("a", 1), state("a", 1)], "the position 1 of this key"),
        ([item("a", "x", 0), item("a", "y", 1), item("a", "x", 2)], "the item 'x' of this key"),
        ([state("a", kind="value")] * 2, "this key"),
    ],
)
def test_two_rows_for_one_value_are_refused(given: list[StateRecord], what: str) -> None:
    with pytest.raises(ConfigurationError, match=f"two rows of the table are for {what}") as error:
        list(numbered_states(given))
    assert error.value.where["key"] == "'a'"


def test_timers_get_their_order() -> None:
    timer = TimerRecord("op", "event", 1, 5, 0, encode("a"), None)
    later, other = timer._replace(time_ms=6), timer._replace(key_group=2)
    found = [*numbered_timers([timer, timer, later, other])]
    assert found == [timer, later._replace(order=1), other]


def broadcast(key: str, position: int, name: str = "rules", value: Any = "v") -> StateRecord:
    found = state(key, position, "value", key_group=ALL_GROUPS, value=encode(value))
    return found._replace(state=name)


def written(folder: Path, records: list[StateRecord]) -> Any:
    writer = RecordWriter(str(folder), "states", "op", frozenset({"rules"}))
    (report,) = writer(to_batches("states", records))
    return decode(report.column("report")[0].as_py())


def test_broadcast_state_keeps_its_order(tmp_path: Path) -> None:
    kept = broadcast("a", 0, "others", (7, "as it is"))
    report = written(tmp_path, [kept, broadcast("b", 3), broadcast("a", 5)])
    assert report.counts == {f"states/op/{ALL_GROUPS}": 3}
    ((path, file),) = report.files.items()
    assert file.rows == 3
    values = [decode(v) for v in pq.read_table(tmp_path / path)["value"].to_pylist()]
    assert values == [(7, "as it is"), (3, "v"), (5, "v")]
    report = written(tmp_path, [broadcast("a", 0), broadcast("b", 0)])
    ((path, _),) = report.files.items()
    values = [decode(v) for v in pq.read_table(tmp_path / path)["value"].to_pylist()]
    assert values == [(1, "v"), (2, "v")]


def test_a_key_of_broadcast_state_comes_once(tmp_path: Path) -> None:
    with pytest.raises(TaskFailure) as failed:
        written(tmp_path, [broadcast("a", 0), broadcast("a", 1)])
    assert isinstance(failure_in(str(failed.value)), ConfigurationError)


def test_a_pickle_that_can_run_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskFailure) as failed:
        written(tmp_path, [broadcast("a", 0, value=print)])
    refused = failure_in(str(failed.value))
    assert isinstance(refused, CheckpointError) and "builtins.print" in str(refused)
