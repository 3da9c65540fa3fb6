"""Sources that stop although their input goes on: drained, or left open for a later run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.connector import Budget
from headrace.errors import CheckpointError, JobError
from headrace.runtime.coordination.coordinator import Coordinator
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.coordination.stops import describe_stop
from headrace.runtime.job_time import JobTime
from headrace.runtime.program import SourceProgram
from headrace.runtime.tasks.source_task import SourceTaskInput, SplitState
from tests.unit.runtime.folders import Folder, records, works
from tests.unit.runtime.programs import chain_of, job_of, node

LARGE = Budget(1000, 1 << 30)
START = JobTime(0, 0)


@dataclass(frozen=True)
class Where:
    """Of a source only where it stops."""

    stops_at: str = ""
    bounded: bool = True

    def stops(self, split: str) -> bool:
        return not split.startswith("first")


class Run:
    """A run of a job with one source, from an offset on."""

    def __init__(
        self,
        folder: Folder,
        where: Where,
        offset: Offset | None = None,
        drain: bool = False,
        **source: Any,
    ) -> None:
        program = SourceProgram(0, "clicks", None, where, None, chain_of(node(1, None)), 1)
        job = job_of([SourceProgram(**{**vars(program), **source})], drain=drain, max_records=1000)
        self.states: dict[tuple[Any, str], SplitState] = {}
        self.coordinator = Coordinator(job, {0: folder}, lambda epoch: self.states)
        self.offset = offset or self.coordinator.initial(0)

    def step(self, now_ms: int = 0, budget: Budget = LARGE) -> list[SourceTaskInput]:
        start = self.offset
        end = self.coordinator.latest(start, JobTime(now_ms, now_ms), budget).to_json()
        self.offset = Offset.from_json(json.loads(json.dumps(end)))
        return self.coordinator.plan(start, self.offset)

    @property
    def ended(self) -> bool:
        return self.coordinator.has_ended(self.offset)

    @property
    def suspended(self) -> bool:
        return self.coordinator.is_suspended(self.offset)


def stopped(**source: Any) -> Run:
    """A run that has stopped after 5 and 3 records."""
    run = Run(Folder({"a": 5, "b": 3}), Where("8 records"), **source)
    run.step()
    return run


def test_a_split_stops_where_it_would_be_drained() -> None:
    folder = Folder({"a": 5, "b": 3})
    run = Run(folder, Where("8 records"))
    tasks = run.step(budget=Budget(6, 1 << 30))
    assert records(tasks) == {"a": [(0, 5)], "b": [(0, 1)]}
    assert not any(work.finished for work in works(tasks))
    assert run.offset.source(0).stopped == {"a": 5} and not run.ended
    tasks = run.step()
    assert records(tasks) == {"b": [(1, 3)]}  # what has stopped is not named again
    assert run.ended and run.suspended
    assert run.coordinator.latest(run.offset, JobTime(99, 99)) is run.offset
    assert run.offset.source(0).end_positions() == {"a": 5, "b": 3}


def test_a_run_that_drains_finishes_them() -> None:
    run = Run(Folder({"a": 5}), Where("5 records"), drain=True)
    assert [work.finished for work in works(run.step())][-1:] == [True]
    assert run.ended and not run.suspended


def test_a_split_that_only_ends_is_drained_by_every_run() -> None:
    run = Run(Folder({"first": 5, "last": 5}), Where("stop"))
    assert {work.split for work in works(run.step()) if work.finished} == {"first"}
    assert run.suspended and not run.offset.source(0).drained


def test_what_ends_by_itself_is_drained_by_every_run() -> None:
    run = Run(Folder({"a": 5}), Where())
    assert [work.finished for work in works(run.step())][-1:] == [True]
    assert run.ended and not run.suspended


@pytest.mark.parametrize("where", [Where("20 records"), Where(bounded=False), Where()])
def test_another_run_goes_on_where_it_stopped(where: Where) -> None:
    run = Run(Folder({"a": 7, "b": 3}, bounded=where.bounded), where, stopped().offset)
    assert not run.ended
    tasks = run.step()
    assert records(tasks).get("a") == [(5, 7)] and not records(tasks).get("b")
    assert run.ended == where.bounded
    assert not any(work.announce for work in works(tasks))  # the receivers know them


def test_a_run_with_nothing_new_has_one_micro_batch_and_ends() -> None:
    run = Run(Folder({"a": 5, "b": 3}), Where("8 records"), stopped().offset)
    assert not run.ended
    assert not any(records(run.step()).values())
    assert run.ended and run.suspended


def two(a: int, offset: Offset | None = None) -> tuple[Coordinator, Offset]:
    """A run of two sources that stop at the ends of now: after ``a`` and 30 records."""
    sources = [
        SourceProgram(number, name, None, Where("latest"), None, chain_of(node(1, None)), 1)
        for number, name in enumerate("ab")
    ]
    folders = {0: Folder({"a": a}), 1: Folder({"b": 30})}
    coordinator = Coordinator(job_of(sources, drain=False), folders, lambda epoch: {})
    return coordinator, offset or coordinator.initial(0)


def test_what_had_stopped_in_a_run_that_was_killed_stays_there() -> None:
    """It goes on to the same places, wherever the end is by then; a later run reads on."""
    killed, offset = two(a=5)
    offset = killed.latest(offset, START, Budget(20, 1 << 30))
    assert offset.source(0).stopped == {"a": 5} and not killed.has_ended(offset)
    again, offset = two(a=9, offset=offset)
    offset = again.latest(offset, START, LARGE)
    assert offset.source(0).stopped == {"a": 5} and offset.source(1).stopped == {"b": 30}
    assert again.has_ended(offset) and again.is_suspended(offset)
    later, start = two(a=9, offset=offset)
    assert not later.has_ended(start)
    offset = later.latest(start, START, LARGE)
    assert offset.source(0).stopped == {"a": 9} and later.has_ended(offset)
    assert records(later.plan(start, offset)).get("a") == [(5, 9)]


def test_drained_later() -> None:
    run = Run(Folder({"a": 5, "b": 3}), Where("8 records"), stopped().offset, drain=True)
    assert [work.finished for work in works(run.step())] == [True, True]
    assert run.ended and not run.suspended


def test_what_has_stopped_is_not_idle() -> None:
    """Its next records exist: event time waits for them."""
    run = Run(Folder({"a": 5, "b": 30}), Where("stop"), idle_timeout_ms=100)
    run.step(budget=Budget(10, 1 << 30))
    run.step(now_ms=500, budget=Budget(1, 1 << 30))
    assert run.offset.source(0).stopped == {"a": 5}
    assert run.offset.source(0).idle == frozenset()


def test_what_has_stopped_is_not_waited_for_by_alignment() -> None:
    run = Run(Folder({"a": 5, "b": 30}), Where("stop"), alignment=("group", 10, 1))
    run.step(budget=Budget(10, 1 << 30))
    run.states = {(0, "a"): SplitState(0, {}), (0, "b"): SplitState(1000, {})}
    assert records(run.step(budget=Budget(10, 1 << 30))) == {"b": [(5, 15)]}


def test_a_repetition_of_what_had_stopped_is_the_same() -> None:
    first = Run(Folder({"a": 5}), Where("5 records"))
    start = first.offset
    tasks = first.step()
    endless = Run(Folder({"a": 50}, bounded=False), Where(bounded=False), start)
    assert endless.coordinator.plan(start, first.offset) == tasks


@pytest.mark.parametrize("before", [Where("5 records"), Where()], ids=["stop", "end"])
def test_what_was_drained_is_not_read_on(before: Where) -> None:
    first = Run(Folder({"a": 5}), before, drain=True)
    first.step()
    again = Run(Folder({"a": 5}), before, first.offset, drain=True)
    assert again.ended  # the same program has nothing left to do
    later = Run(Folder({"a": 9}, bounded=False), Where(bounded=False), first.offset)
    with pytest.raises(CheckpointError, match="'clicks' cannot be continued: an earlier") as err:
        later.step()
    assert err.value.where["to stop at"] == "no end"


def test_a_split_that_was_drained_before_the_others_stopped_counts() -> None:
    first = Run(Folder({"a": 5, "b": 30}), Where("stop"), drain=True)
    first.step(budget=Budget(10, 1 << 30))
    assert not first.ended
    with pytest.raises(CheckpointError, match="an earlier run was drained"):
        Run(Folder({"a": 9, "b": 30}), Where("later"), first.offset).step()


def test_offsets_of_older_builds_do_not_say_where_they_stop() -> None:
    found = stopped().offset.to_json()
    found["sources"]["0"] = {
        key: value
        for key, value in found["sources"]["0"].items()
        if key not in ("until", "stopped", "suspended", "drained")
    } | {"positions": {"a": 2, "b": 3}, "ended": False, "started": {}}
    run = Run(Folder({"a": 9, "b": 9}), Where("later"), Offset.from_json(found))
    assert records(run.step()) == {"a": [(2, 9)], "b": [(3, 9)]}


class Losing(Folder):
    def resume(self, positions: Mapping[str, Any], now_ms: int) -> Mapping[str, Any]:
        return {"a": positions["a"]}


def test_a_source_resumes_the_splits_that_it_is_given() -> None:
    run = Run(Losing({"a": 9}), Where("later"), stopped().offset)
    with pytest.raises(JobError, match=r"resume\(\) returns the splits that it is given"):
        run.step()


def test_where_a_source_stops() -> None:
    assert [describe_stop(w) for w in (Where("x"), Where(), Where(bounded=False), None)] == [
        "x",
        "its end",
        "",
        "",
    ]
