"""Random patterns against what Flink's own library answered; it got a watermark for each ms."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from headrace.cep import (
    CEP,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from headrace.common import Types
from headrace.common.types import row_of
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.errors import HeadraceError
from headrace.testing import KeyedHarness
from tests.differential.patterns import Case, Event, build, condition, over_columns

pytestmark = pytest.mark.differential

GOLDENS = Path(__file__).parent / "goldens_patterns.jsonl"
LATE, TIMEOUT = OutputTag("late"), OutputTag("timeout")
PARTS = 20


@cache
def goldens() -> list[tuple[Case, Any]]:
    lines = GOLDENS.read_text(encoding="utf-8").splitlines()
    return [(each["given"], each["flink"]) for each in map(json.loads, lines)]


class Found(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.timestamp(), ids(match)


class FoundAndOver(Found, TimedOutPartialMatchHandler):
    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield TIMEOUT, (ctx.timestamp(), ids(match))


def ids(match: Any) -> dict[str, list[int]]:
    return {stage: [event.id for event in events] for stage, events in match.items()}


NAMES = ("id", "name", "value")
ROWS = Types.ROW_NAMED([*NAMES], [Types.LONG(), Types.STRING(), Types.LONG()])


def spec(case: Case, is_over_columns: bool = False) -> Any:
    """The operator's spec, as the API makes it."""
    pattern = build(case["pattern"], case["skip"], over_columns if is_over_columns else condition)
    env = StreamExecutionEnvironment.get_execution_environment()
    declared = ROWS if is_over_columns else None
    stream = env.from_collection([Event(0, "", 0)], declared).key_by(lambda event: 0)
    comparator = (lambda a, b: a.value - b.value) if case.get("comparator") else None
    with warnings.catch_warnings(action="ignore"):
        found = CEP.pattern(stream, pattern, comparator).side_output_late_data(LATE)
        if case.get("processing_time"):
            found = found.in_processing_time()
        matches = found.process(FoundAndOver() if case["timeouts"] else Found())
    return matches._edges[0].source.spec  # type: ignore[union-attr]


def answer(case: Case, backend: Any) -> dict[str, Any]:
    """What Headrace gives: matches in order, partial ones that are over, late events."""
    is_over_columns = backend == "over columns"
    made = spec(case, is_over_columns)
    backend = "heap" if is_over_columns else backend
    with KeyedHarness(made, lambda event: 0, backend=backend) as task:
        for event in case["events"]:
            if "watermark" in event:
                task.advance_watermark(event["watermark"])
            elif "clock" in event:
                task.advance_processing_time(event["clock"])
            else:
                fields = [event[name] for name in NAMES]
                value = row_of(NAMES, fields) if is_over_columns else Event(*fields)
                task.process(value, event.get("ts"))
        over = [[time, match] for time, match in task.side_output(TIMEOUT)]
        return {
            "matches": [[time, match] for time, match in task.output()],
            "over": sorted(over, key=json.dumps),
            "late": [event.id for event in task.side_output(LATE)],
        }


@pytest.mark.parametrize("part", range(PARTS))
def test_matches_are_those_of_flink(part: int) -> None:
    check_part(part, "heap")


@pytest.mark.parametrize("part", range(PARTS))
def test_matches_in_pages(part: int) -> None:
    check_part(part, "paged")


@pytest.mark.parametrize("part", range(PARTS))
def test_matches_over_columns(part: int) -> None:
    check_part(part, "over columns")


def check_part(part: int, backend: str) -> None:
    for case, flink in goldens()[part::PARTS]:
        if "error" in flink:
            with pytest.raises(HeadraceError):
                answer(case, backend)
            continue
        given = json.loads(json.dumps(answer(case, backend)))
        if case.get("processing_time"):
            # Flink's timers of processing time are a millisecond late.
            given, flink = without_times(given), without_times(flink)
        assert given == flink, json.dumps(case)


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the times of matches that are complete as time passes."""
    return {**answer, "matches": [match for _, match in answer["matches"]]}


def test_the_goldens_have_what_counts() -> None:
    """Matches, timeouts, late events, errors, and each kind of stage."""
    text = GOLDENS.read_text(encoding="utf-8")
    answers = [flink for _, flink in goldens()]
    assert sum(len(each.get("matches", ())) for each in answers) > 1_000
    assert sum(len(each.get("over", ())) for each in answers) > 200
    assert sum(len(each.get("late", ())) for each in answers) > 100
    words = "greedy optional until consecutive allow_combinations times_or_more not_next group"
    assert all(f'"{word}"' in text for word in (*words.split(), "not_followed_by", "comparator"))
