"""The pending data of sinks goes with the job, to wherever it continues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Encoder
from headrace.connector import Committer
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.errors import CheckpointError
from headrace.runtime.savepoint.records import SinkRecord
from headrace.runtime.savepoint.sinks import export_sinks, import_sinks
from headrace.testing import run_pipeline


class Holding(Committer):
    def __init__(self, *held: bytes) -> None:
        self.held = [*held]

    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        raise AssertionError("nothing is committed here")

    def snapshot(self, last_batch: int | None = None) -> Iterator[bytes]:
        return iter(self.held)

    def restore(self, snapshot: Iterable[bytes]) -> None:
        self.held = [*snapshot]


def test_pieces_go_to_the_sink_of_the_same_id_in_their_order() -> None:
    before: dict[str, Committer] = {"a": Holding(b"1", b"2"), "b": Holding(), "c": Holding(b"3")}
    records = [*export_sinks(before)]
    assert records == [SinkRecord("a", 0, b"1"), SinkRecord("a", 1, b"2"), SinkRecord("c", 0, b"3")]
    a, b, c = Holding(), Holding(b"its own"), Holding()
    import_sinks(records, {"c": c, "b": b, "a": a})
    assert (a.held, b.held, c.held) == ([b"1", b"2"], [b"its own"], [b"3"])


def test_what_nobody_claims_is_refused_and_so_is_a_gap() -> None:
    records = [*export_sinks({"a": Holding(b"1", b"2")})]
    with pytest.raises(CheckpointError, match="of the sink 'a', which the program lacks"):
        import_sinks(records, {"b": Holding()})
    import_sinks(records, {"b": Holding()}, ignore_unclaimed=True)
    with pytest.raises(
        CheckpointError, match="a piece of the pending data of the sink 'a' is missing"
    ):
        import_sinks(records[1:], {"a": Holding()})


def test_a_sink_that_holds_nothing_back_takes_nothing() -> None:
    class Plain(Committer):
        def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
            raise AssertionError("nothing is committed here")

    assert [*export_sinks({"a": Plain()})] == []
    import_sinks([], {"a": Plain()})
    with pytest.raises(CheckpointError, match="it keeps none itself"):
        import_sinks([SinkRecord("a", 0, b"1")], {"a": Plain()})


def numbers_into(folder: Path) -> Callable[[StreamExecutionEnvironment], DataStream]:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        numbers = env.from_sequence(0, 19).uid("numbers").map(str)
        sink = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder()).build()
        numbers.sink_to(sink).uid("files")
        return numbers

    return build


def test_pending_files_move_to_another_folder(tmp_path: Path) -> None:
    """At each restart the job writes to the other folder; all is published in the last one."""
    first, second = tmp_path / "first", tmp_path / "second"
    run_pipeline(
        numbers_into(first),
        successors=[numbers_into(second)],
        cuts=[3, 4, 5],
        restarts="savepoint",
    )
    found = {
        folder.name: sorted(
            int(line) for path in folder.glob("part-*") for line in path.read_text().split()
        )
        for folder in (first, second)
    }
    assert found == {"first": [], "second": [*range(20)]}
