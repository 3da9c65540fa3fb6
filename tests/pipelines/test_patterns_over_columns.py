"""Conditions over columns decide what functions of the event decide, wherever they are asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep import CEP, Pattern
from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.common.types import row_of
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.errors import SqlError, TypeMismatchError
from headrace.operators.patterns import operator
from headrace.table.expressions import col
from headrace.testing import KeyedHarness, run_pipeline
from tests.effort import examples
from tests.pipelines.running import SETTINGS, in_small_pieces

LATE = OutputTag("late")
BOUND_MS = 5
NAMES = ["key", "name", "value", "at"]
LONG = Types.LONG()
ROWS = Types.ROW_NAMED(NAMES, [LONG, Types.STRING(), LONG, LONG])

Event = tuple[int, str | None, int | None, int]


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces(), pytest.MonkeyPatch.context() as patch:
        # The same records are late, whether they come as rows or as columns.
        for name in ("COLUMNS_RECORDS", "CHUNK_RECORDS", "RANGE_RECORDS"):
            patch.setattr(indexed, name, 7)
        yield


def events(seed: int) -> list[Event]:
    """Most are no part of a pattern, some come late, and some have NULL."""
    dice = random.Random(seed)
    return [
        (
            dice.randrange(3),
            dice.choice(["a", "b", "x", "x", "x", None]),
            dice.choice([None, 0, *range(10)]),
            2 * place - dice.choice((0, 0, 3, 30)),
        )
        for place in range(20, 90)
    ]


def by_functions() -> tuple[Pattern, ...]:
    a = lambda event: event["name"] == "a"  # noqa: E731
    b = lambda event: event["name"] == "b"  # noqa: E731
    high = lambda event: (event["value"] or 0) > 4  # noqa: E731
    of_ten = lambda event: bool(event["value"]) and 10 // event["value"] > 2  # noqa: E731
    rising = lambda event, ctx: (  # noqa: E731
        (event["value"] or 0) > (ctx.get_events_for_pattern("a")[0]["value"] or 0)
    )
    return (
        Pattern.begin("a").where(a).followed_by("b").where(b).within(30),
        Pattern.begin("a").where(a).where(high).next("b").where(high).or_(b).within(30),
        Pattern.begin("a").where(a).one_or_more().until(b).followed_by("b").where(of_ten),
        Pattern.begin("a").where(a).followed_by("b").where(b).where(rising).within(30),
        Pattern.begin("a").where(of_ten).not_followed_by("b").where(b).within(30),
    )


def over_columns() -> tuple[Pattern, ...]:
    a, b, value = col("name") == "a", col("name") == "b", col("value")
    high, not_zero, of_ten = value > 4, value != 0, 10 / value > 2
    rising = by_functions()[3]._stage.condition.parts[1]  # type: ignore[union-attr]
    return (
        Pattern.begin("a").where(a).followed_by("b").where(b).within(30),
        Pattern.begin("a").where(a).where(high).next("b").where(high).or_(b).within(30),
        Pattern.begin("a").where(a).one_or_more().until(b).followed_by("b")
        # 10 / 0 fails, where it is computed.
        .where(not_zero).where(of_ten),
        Pattern.begin("a").where(a).followed_by("b").where(b).where(rising).within(30),
        Pattern.begin("a").where(not_zero & (of_ten)).not_followed_by("b").where(b).within(30),
    )  # fmt: skip


PATTERNS = len(by_functions())


def from_rows(env: StreamExecutionEnvironment, given: list[Event]) -> DataStream:
    rows = [row_of((*NAMES,), [*event]) for event in given]
    return env.from_collection(rows, ROWS)


def from_columns(env: StreamExecutionEnvironment, given: list[Event]) -> DataStream:
    kinds = [pa.int64(), pa.string(), pa.int64(), pa.int64()]

    def columns(indexes: Any) -> dict[str, Any]:
        found = [given[index] for index in indexes.tolist()]
        return {
            name: pa.array([each[place] for each in found], kind)
            for place, (name, kind) in enumerate(zip(NAMES, kinds, strict=True))
        }

    source = DataGeneratorSource.of_columns(columns, len(given), record_type=ROWS)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "events")


Read = Callable[[StreamExecutionEnvironment, list[Event]], DataStream]


def found(
    given: list[Event],
    pattern: Pattern,
    read: Read,
    *,
    event_time: bool = True,
    bound_ms: int = BOUND_MS,
) -> dict[str, DataStream]:
    env = StreamExecutionEnvironment(Configuration.from_dict(SETTINGS))
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    keyed = (
        read(env, given)
        .uid("events")
        .assign_timestamps_and_watermarks(times.with_timestamp_assigner("at"))
        .key_by("key")
    )
    looked_for = CEP.pattern(keyed, pattern)
    looked_for = (
        looked_for.side_output_late_data(LATE) if event_time else looked_for.in_processing_time()
    )

    def select(match: Any) -> Any:
        return {name: [(*event,) for event in taken] for name, taken in match.items()}

    matches = looked_for.select(select).uid("pattern")
    return {"found": matches, "late": matches.get_side_output(LATE)}


def answers(given: list[Event], pattern: Pattern, read: Read, **how: Any) -> list[Any]:
    event_time = how.pop("event_time", True)

    def program(_: Any) -> dict[str, DataStream]:
        return found(given, pattern, read, event_time=event_time)

    results = run_pipeline(program, **how)
    late = [(*event,) for event in results["late"]]
    return [sorted(results["found"], key=str), sorted(late, key=str)]


@pytest.mark.filterwarnings("ignore:pattern")
@settings(max_examples=examples(8), deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 20), max_size=4),
    st.sampled_from([False, True, "savepoint"]),
    st.booleans(),
    st.integers(0, PATTERNS - 1),
)
@pytest.mark.parametrize("read", [from_rows, from_columns])
def test_answers_are_those_of_functions(
    read: Read, seed: int, cuts: list[int], restarts: Any, event_time: bool, number: int
) -> None:
    given = events(seed)
    how = {"cuts": cuts, "restarts": restarts, "backends": "paged", "event_time": event_time}
    expected = answers(given, by_functions()[number], from_rows, **how)
    assert answers(given, over_columns()[number], read, **how) == expected


@pytest.mark.filterwarnings("ignore:pattern")
@pytest.mark.parametrize("number", range(PATTERNS))
@pytest.mark.parametrize("read", [from_rows, from_columns])
def test_a_batch_gives_the_same(read: Read, number: int) -> None:
    given = events(7)
    expected = answers(given, by_functions()[number], from_rows, mode="batch")
    assert expected[0]
    assert answers(given, over_columns()[number], read, mode="batch") == expected


def pair(first: str, second: str, over_columns: bool) -> Pattern:
    """One event of a name, and then one of another."""

    def named(name: str) -> Any:
        return col("name") == name if over_columns else lambda event: event["name"] == name

    return Pattern.begin("1").where(named(first)).followed_by("2").where(named(second)).within(30)


@pytest.mark.parametrize("now_over_columns", [False, True])
@pytest.mark.parametrize("then_over_columns", [False, True])
def test_waiting_events_are_asked_by_the_program_that_takes_them(
    now_over_columns: bool, then_over_columns: bool
) -> None:
    """Between two runs of a program another one waits for other names, while nothing is taken."""
    given = events(11)

    def program(pattern: Pattern) -> Callable[[Any], dict[str, DataStream]]:
        return lambda _: found(given, pattern, from_rows, bound_ms=10_000)

    expected = run_pipeline(program(pair("a", "b", False)))["found"]
    # Nothing is left out: the other program would leave out what this one needs.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "conditions_to_ask", lambda *arguments: None)
        results = run_pipeline(
            program(pair("a", "b", now_over_columns)),
            successors=[program(pair("b", "x", then_over_columns))],
            cuts=[20, 20],
            restarts=True,
            backends="paged",
        )
    assert expected
    assert sorted(results["found"], key=str) == sorted(expected, key=str)


def test_a_plan_has_columns_up_to_the_pattern() -> None:
    plan = found(events(0), over_columns()[0], from_columns)["found"].explain()
    assert "Relevant events for Pattern (chained) (columns)" in plan
    assert "HASH exchange -> vertex 0 (columns)" in plan
    with_function = found(events(0), by_functions()[0], from_columns)["found"].explain()
    assert "Relevant events for Pattern (chained)" in with_function
    assert "(columns)" not in with_function.partition("Relevant events")[2]


def test_an_answer_that_fails_is_an_error_where_it_is_needed() -> None:
    given: list[Event] = [(0, "a", 1, 1), (0, "x", 0, 2), (0, "b", 0, 3)]
    needed = Pattern.begin("a").where(col("name") == "a").next("b").where(10 / col("value") > 2)
    with pytest.raises(SqlError, match="by zero") as raised:
        answers(given, needed, from_rows)
    notes = "\n".join(raised.value.__notes__)
    assert "Pattern" in notes and "name='x'" in notes
    unneeded = Pattern.begin("a").where(col("name") == "a").where(10 / col("value") > 2)
    assert answers(given, unneeded, from_columns)[0] == [{"a": [(0, "a", 1, 1)]}]


def test_events_of_another_type_are_an_error() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_collection([row_of((*NAMES,), [1, "a", 1, 1])], ROWS).key_by("key")
    pattern = Pattern.begin("a").where(col("value") > 0)
    matches = CEP.pattern(rows, pattern).in_processing_time().select(lambda match: 1)
    spec = matches._edges[0].source.spec
    with KeyedHarness(spec, lambda event: 0) as task:
        task.process(row_of((*NAMES,), [1, "a", 5, 1]), 0)
        assert task.output() == [1]
        with pytest.raises(TypeMismatchError, match="is not of the type of its stream"):
            task.process(row_of((*NAMES,), [1, "a", "five", 1]), 1)
