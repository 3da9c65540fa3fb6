"""Flink's answers again, where the pattern comes as data on a broadcast stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.cep import CEP, PatternRegistry
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import HeadraceError
from headrace.testing import KeyedHarness
from tests.differential.patterns import Case, Event
from tests.differential.patterns import condition as case_condition
from tests.differential.test_patterns_against_flink import (
    LATE,
    TIMEOUT,
    Found,
    FoundAndOver,
    goldens,
    without_times,
)

pytestmark = pytest.mark.differential

PARTS = 10
_FLAGS = ("consecutive", "allow_combinations", "greedy", "optional")


def case(event: Event, ctx: Any, data: Any) -> bool:
    holds: Any = case_condition(data)
    # Those of the event alone take nothing else.
    return bool(holds(event) if holds.__code__.co_argcount == 1 else holds(event, ctx))


def registry() -> PatternRegistry:
    made = PatternRegistry()
    made.condition("case", case, data=list)
    made.condition("name", lambda event, name: event.name == name, name=str)
    return made


def to_condition(data: Any) -> dict[str, Any]:
    kind, *given = data
    if kind == "and":
        return {"and": [to_condition(each) for each in given]}
    if kind == "name":
        return {"condition": "name", "values": {"name": given[0]}}
    return {"condition": "case", "values": {"data": data}}


def to_stage(given: Any) -> dict[str, Any]:
    """Return a stage of a case in Headrace's form."""
    stage: dict[str, Any] = {} if given["how"] == "begin" else {"follows": given["how"]}
    if "group" in given:
        stage["group"] = [to_stage(each) for each in given["group"]]
    else:
        stage["name"] = given["name"]
    for call, *values in given["calls"]:
        match call:
            case "where":
                stage["where"] = to_condition(values[0])
            case "or_":
                added = to_condition(values[0])
                stage["where"] = {"or": [stage["where"], added]} if "where" in stage else added
            case "until":
                stage["until"] = to_condition(values[0])
            case "within":
                stage["gap_ms" if len(values) > 1 else "within_ms"] = values[0]
            case "one_or_more":
                stage["one_or_more"] = True
                if values:
                    stage["window_ms"] = values[0]
            case "times":
                stage["times"] = values if len(values) > 1 else values[0]
            case "times_or_more":
                stage["times_or_more"] = values[0]
            case _:
                assert call in _FLAGS
                stage[call] = True
    return stage


def to_data(case: Case) -> dict[str, Any]:
    data: dict[str, Any] = {"id": "p", "stages": [to_stage(each) for each in case["pattern"]]}
    if case["skip"] is not None:
        kind, *stage = case["skip"]
        data["skip"] = {kind: stage[0]} if stage else kind
    return data


def is_data(case: Case) -> bool:
    """Whether data may say it: a skip strategy of data cannot make a job fail."""
    return case["skip"] is None or "throw" not in case["skip"]


def answer(case: Case, backend: Any) -> dict[str, Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([Event(0, "", 0)]).key_by(lambda event: 0)
    comparator = (lambda a, b: a.value - b.value) if case.get("comparator") else None
    patterns = env.from_collection([{}])
    found = CEP.dynamic_patterns(stream, patterns, registry(), comparator)
    if case.get("processing_time"):
        found = found.in_processing_time()
    else:
        found = found.side_output_late_data(LATE)
    matches: Any = found.process(FoundAndOver() if case["timeouts"] else Found())
    with KeyedHarness(
        matches._edges[0].source.spec, (lambda event: 0, None), backend=backend
    ) as at:
        at.process(json.dumps(to_data(case)), 0, input=1)
        for event in case["events"]:
            if "watermark" in event:
                at.advance_watermark(event["watermark"])
            elif "clock" in event:
                at.advance_processing_time(event["clock"])
            else:
                at.process(Event(event["id"], event["name"], event["value"]), event.get("ts"))
        over = [[time, match] for time, match in at.side_output(TIMEOUT)]
        return {
            "matches": [[time, match] for time, match in at.output()],
            "over": sorted(over, key=json.dumps),
            "late": [event.id for event in at.side_output(LATE)],
        }


@pytest.mark.parametrize("part", range(PARTS))
def test_a_pattern_that_never_changes_gives_what_a_fixed_one_gives(part: int) -> None:
    for case, flink in goldens()[part::PARTS]:
        if not is_data(case):
            continue
        backend = "paged" if case["case"] % 2 else "heap"
        if "error" in flink:
            with pytest.raises(HeadraceError):
                registry()._registered().from_record(to_data(case))
            continue
        given = json.loads(json.dumps(answer(case, backend)))
        if case.get("processing_time"):
            given, flink = without_times(given), without_times(flink)
        assert given == flink, json.dumps(case)


def test_most_cases_can_be_data() -> None:
    assert sum(is_data(case) for case, _ in goldens()) > 500
