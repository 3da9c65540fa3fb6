"""Queries of state in the driver: of which micro-batch an answer is."""

from __future__ import annotations

from typing import Any, cast

import pytest

from headrace.common import Configuration
from headrace.common.job_client import StateAnswer
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.errors import ConfigurationError, StateQueryError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runners.spark import queried as module
from headrace.runners.spark.link import BatchReport, PageChanges
from headrace.runners.spark.queried import QueriedState
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.program import JobProgram
from headrace.runtime.state.kinds import VALUE, StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

MANY = 1 << 20


class Counts(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def make_program() -> JobProgram:
    configuration = Configuration().set_string("headrace.state.queryable", "counts")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).key_by(lambda n: n).process(Counts()).uid("counts").print()
    return program_of(StreamGraph.of(env._take_sinks()), configuration, "job")


class Pages:
    """The pages of the operator, and those that changed."""

    def __init__(self, program: JobProgram) -> None:
        (self.vertex,) = program.stages[0]
        self.stores: dict[int, MemoryPages] = {}

    def put(self, values: dict[int, Any]) -> PageChanges:
        """Store values; None removes one. Return the changed pages."""
        changed: dict[str, bytes | None] = {}
        for key, value in values.items():
            group = key_group_of(key, self.vertex.groups)
            store = self.stores.setdefault(group, MemoryPages())
            before = dict(store.records)
            backend = PagedBackend(store, self.vertex.groups)
            backend.declare("count", StateKind(VALUE))
            entry = backend.enter(key)
            if value is None:
                entry.clear()
            else:
                entry["count"] = value
            backend.changed(key)
            backend.flush()
            for name in before.keys() | store.records.keys():
                if before.get(name) != store.records.get(name):
                    changed[f"{self.vertex.id}/{group}/{name}"] = store.records.get(name)
        return changed


class Harness:
    """A job's state for queries; ``committed``: the micro-batches that Spark has committed."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, max_bytes: int = MANY, share: float = 1.0
    ) -> None:
        program = make_program()
        self.pages = Pages(program)
        self.committed: set[int] = set()
        self.state = QueriedState(program, max_bytes, share)
        monkeypatch.setattr(module.CommittedState, "last", lambda folder: None)
        monkeypatch.setattr(module, "is_committed", lambda _, batch: batch in self.committed)

    def load(self) -> None:
        class Generation:
            first_batch, origin = 0, None

        class Checkpoint:
            directory = spark = "nowhere"
            generation = Generation

        self.state.load(cast(Any, None), cast(Any, Checkpoint))

    def report(self, batch: int, values: dict[int, Any]) -> None:
        self.state.receive(BatchReport(batch, state=[self.pages.put(values)]))

    def ask(self, *keys: int) -> StateAnswer:
        self.state.settle()
        return self.state.query("counts", "count", keys)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Harness:
    made = Harness(monkeypatch)
    made.load()
    return made


def test_an_answer_is_of_the_last_committed_micro_batch(job: Harness) -> None:
    assert job.ask(1) == (-1, [None])
    job.report(0, {1: 10, 2: 20})
    assert job.ask(1, 2) == (-1, [None, None])
    job.committed.add(0)
    assert job.ask(1, 2, 3) == (0, [10, 20, None])
    job.report(1, {1: 11})
    assert job.ask(2, 1) == (0, [20, 10])
    job.report(2, {2: None})  # what comes after a micro-batch proves that it was committed
    assert job.ask(1, 2) == (1, [11, 20])
    job.committed.add(2)
    assert job.ask(1, 2) == (2, [11, None])


def test_a_repeated_micro_batch_replaces_its_first_run(job: Harness) -> None:
    job.report(0, {1: 10})
    job.committed.add(0)
    job.report(1, {1: 11})
    job.pages = Pages(make_program())
    job.report(1, {1: 12})
    job.committed.add(1)
    assert job.ask(1) == (1, [12])


def test_another_attempt_begins_with_what_is_committed(job: Harness) -> None:
    job.report(0, {1: 10})
    job.committed.add(0)
    assert job.ask(1) == (0, [10])
    job.load()
    assert job.ask(1) == (-1, [None])


def test_a_name_that_no_state_has_is_refused(job: Harness) -> None:
    assert job.state.query("counts", "typo", [1]) == (-1, [None])  # nothing is known yet
    job.report(0, {1: 10})
    job.committed.add(0)
    job.state.settle()
    with pytest.raises(ConfigurationError, match="'counts' has no state 'typo'") as refused:
        job.state.query("counts", "typo", [1])
    assert "its states: count" in str(refused.value)
    assert job.ask(9) == (0, [None])


def test_a_job_that_has_not_started_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StateQueryError, match="the job has not started"):
        Harness(monkeypatch).ask(1)


@pytest.mark.parametrize("sent", [True, False])
def test_state_that_is_too_large_is_refused_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, sent: bool
) -> None:
    job = Harness(monkeypatch, max_bytes=2000)
    job.load()
    job.report(0, {1: "x"})
    if sent:
        job.report(1, {2: "y" * 2000})
    else:
        job.state.receive(BatchReport(1, state=[None]))
    job.report(2, {})
    with pytest.raises(StateQueryError, match="larger than 2,000 bytes"):
        job.ask(1)
    assert not job.state._groups


def test_less_state_is_not_too_large_whatever_was_written_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Harness(monkeypatch, max_bytes=2000)
    job.load()
    for batch in range(50):
        job.report(batch, {1: "x" * 500, 2: "y" * 500} if batch % 2 else {1: None, 2: "y"})
    job.committed.add(49)
    assert job.ask(1, 2) == (49, ["x" * 500, "y" * 500])
