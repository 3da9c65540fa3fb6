"""An operator that takes retractions and gives upserts: alone, in programs, and what is refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from headrace.common._output_tag import OutputTag
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import CommitterContext, Sink, SinkWriter, WriterContext
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors._collection import CollectionSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.errors import PlanError
from headrace.testing import KeyedHarness, run_pipeline
from tests.pipelines.columns import adding

from .sums import ChangedSumsSpec, Changes

I, UB, UA, D = RowKind  # noqa: E741  as Flink's plans name them


def changes(
    env: StreamExecutionEnvironment, mode: ChangelogMode | None, rows: Sequence[Row] = ()
) -> DataStream:
    return env.from_source(
        Changes((*rows,), mode=mode), WatermarkStrategy.no_watermarks(), "changes"
    )


def sums(stream: DataStream) -> DataStream:
    return adding(stream.key_by(itemgetter(0)), ChangedSumsSpec())


def row(kind: RowKind, key: str, amount: int) -> Row:
    return Row.of_kind(kind, key, amount)


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_a_row_is_taken_back(backend: Any) -> None:
    with KeyedHarness(ChangedSumsSpec(), 0, backend=backend) as task:
        for each in (row(I, "a", 5), row(UB, "a", 5), row(UA, "a", 7), row(I, "a", 1)):
            task.process(each)
        for each in (row(D, "a", 7), row(D, "a", 1), row(I, "a", 2)):
            task.process(each)
        assert task.output() == [
            row(I, "a", 5),
            row(D, "a", 0),
            row(I, "a", 7),
            row(UA, "a", 8),
            row(UA, "a", 1),
            row(D, "a", 0),
            row(I, "a", 2),
        ]


def drawn(seed: int) -> list[Row]:
    """Changes of a table by row number: inserts, updates as two rows, and removals."""
    source, table, found = random.Random(seed), dict[int, tuple[str, int]](), list[Row]()
    for number in range(200):
        chosen = source.choice([*table, None, None]) if table else None
        now = source.choice("abc"), source.randrange(10)
        if chosen is None:
            table[number] = now
            found.append(row(I, *now))
        elif source.random() < 0.5:
            found.append(row(D, *table.pop(chosen)))
        else:
            found += [row(UB, *table[chosen]), row(UA, *now)]
            table[chosen] = now
    return found


def applied(upserts: list[Row]) -> dict[str, int]:
    """What upserts by key leave."""
    table: dict[str, int] = {}
    for each in upserts:
        if each.get_row_kind() is D:
            del table[each[0]]
        else:
            assert (each[0] in table) is (each.get_row_kind() is UA)
            table[each[0]] = each[1]
    return table


@pytest.mark.parametrize("how", [{}, {"cuts": [20, 90, 91]}, {"mode": "batch"}], ids=str)
def test_upserts_leave_the_sums(how: Any) -> None:
    seed = 4711
    rows = drawn(seed)
    expected, left = Counter[str](), Counter[str]()
    for each in rows:
        sign = -1 if each.get_row_kind() in (UB, D) else 1
        expected[each[0]] += sign * each[1]
        left[each[0]] += sign
    env = StreamExecutionEnvironment()
    found = run_pipeline(sums(changes(env, ChangelogMode.all(), rows)), **how).only
    assert applied(found) == {key: expected[key] for key in left if left[key]}, f"seed {seed}"


class OwnSink(Sink):
    """A sink of somebody who said nothing of kinds, or something."""

    def __init__(self, *mode: ChangelogMode | None) -> None:
        self._mode = mode

    @property
    def accepts(self) -> ChangelogMode | None:
        """The value that was passed in."""
        return self._mode[0] if self._mode else super().accepts

    def writer(self, context: WriterContext) -> SinkWriter:
        """None: nothing runs."""
        raise NotImplementedError

    def committer(self, context: CommitterContext) -> Any:
        """None: nothing runs."""
        raise NotImplementedError


def checked(env: StreamExecutionEnvironment) -> str:
    return env.get_execution_plan()


UPSERTS, RETRACTIONS = ChangelogMode.upsert(), ChangelogMode.all()


def test_a_sink_of_inserts_is_not_given_upserts() -> None:
    env = StreamExecutionEnvironment()
    sink = changes(env, UPSERTS).key_by(itemgetter(0)).sink_to(OwnSink())
    sink.name("only added to").uid("added")
    with pytest.raises(PlanError) as raised:
        checked(env)
    message = str(raised.value)
    assert "'only added to' does not accept the changes of 'changes'" in message
    assert f"only added to (uid=added), built at {__file__}:" in message
    assert f"changes, built at {__file__}:" in message
    assert "INSERT (inserts only)" in message
    assert "INSERT, UPDATE_AFTER, DELETE (upserts by key)" in message
    assert ".flat_map(...)" in message


def test_an_operator_that_takes_rows_back_is_not_given_upserts() -> None:
    env = StreamExecutionEnvironment()
    sums(sums(changes(env, RETRACTIONS))).print()
    with pytest.raises(PlanError, match=r"'ChangedSums' does not accept the changes"):
        checked(env)


@pytest.mark.parametrize("mode", [None, ChangelogMode.insert_only(), RETRACTIONS], ids=str)
def test_what_fits_and_what_nobody_declares_is_taken(mode: ChangelogMode | None) -> None:
    env = StreamExecutionEnvironment()
    sums(changes(env, mode)).sink_to(OwnSink(UPSERTS))
    assert "ChangedSums" in checked(env)


def test_a_user_s_function_takes_any_and_gives_any() -> None:
    env = StreamExecutionEnvironment()
    stream = sums(changes(env, RETRACTIONS))
    stream.map(lambda value: value).sink_to(OwnSink())
    stream.flat_map(lambda value: [value]).key_by(itemgetter(0)).sum(1).sink_to(OwnSink())
    stream.print()
    stream.sink_to(OwnSink(None))
    assert "ChangedSums" in checked(env)


@pytest.mark.parametrize(
    "step",
    [
        lambda stream: stream.filter(lambda value: True),
        lambda stream: stream.rebalance(),
        lambda stream: stream.union(stream.filter(lambda value: False)),
        lambda stream: stream.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()),
        lambda stream: stream.cache(),
    ],
    ids=["filter", "rebalance", "union", "timestamps", "cache"],
)
def test_what_passes_records_on_passes_their_mode_on(step: Any) -> None:
    env = StreamExecutionEnvironment()
    step(changes(env, UPSERTS)).sink_to(OwnSink())
    with pytest.raises(PlanError, match=r"does not accept the changes"):
        checked(env)


def test_files_and_batches_take_inserts_only(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    changes(env, UPSERTS).sink_to(
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    )
    with pytest.raises(PlanError, match=r"does not accept the changes"):
        checked(env)
    env = StreamExecutionEnvironment()
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    changes(env, UPSERTS).map_batches(lambda batch: batch, input_type=pair).print()
    with pytest.raises(PlanError, match=r"does not accept the changes"):
        checked(env)


def test_a_side_output_is_declared_by_nobody() -> None:
    env, tag = StreamExecutionEnvironment(), OutputTag("bad")
    source = Changes((), mode=UPSERTS, bad_record_tag=tag)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "changes")
    stream.get_side_output(tag).sink_to(OwnSink())
    assert "changes" in checked(env)


def test_a_hybrid_source_gives_what_its_sources_give() -> None:
    inserted = Changes((), mode=ChangelogMode.insert_only())
    assert HybridSource((inserted, Changes((), mode=UPSERTS))).gives == UPSERTS
    assert HybridSource((inserted, CollectionSource(()))).gives is None
