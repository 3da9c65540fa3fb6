"""A whole program in this process: no thread, no JVM, no waiting."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import cloudpickle

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import JobError, PlanError
from headrace.graph.stream_graph import StreamGraph
from headrace.metrics._operator_counts import BatchCounts
from headrace.runners.clock import RunClock
from headrace.runners.delivery import Delivery
from headrace.runners.launch import program_of
from headrace.runners.local import LocalRun
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.layout import Layout, check
from headrace.runtime.program import JobProgram, SinkProgram, VertexProgram
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.runtime.savepoint.sinks import import_sinks
from headrace.runtime.savepoint.whole import restore, savepoint_of, splits_of
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.held import HeldPages
from headrace.testing._clock import ManualClock
from headrace.testing._savepoints import round_trip

Streams = DataStream | Mapping[str, DataStream]
Build = Callable[[StreamExecutionEnvironment], Streams]
Planner = Callable[[int | None, int | None], JobProgram]
"""Takes the number of key groups and the parallelism."""

_NO_LIMIT = 1 << 40
_DEFAULT_NAME = "stream"


@dataclass(eq=False)
class PipelineResults(Mapping[str, list[Any]]):
    """The records of each named stream, in the order of their arrival at its end.

    Equal to a dictionary of the same records.
    ``counters``: what the operators counted (see ``MetricGroup``). ``batches``: the counts of each
    micro-batch, by operator and source; no time was measured.
    """

    streams: dict[str, list[Any]]
    micro_batches: int = 0
    counters: dict[str, Any] = field(default_factory=dict)
    batches: list[BatchCounts] = field(default_factory=list)

    @property
    def only(self) -> list[Any]:
        """The records of a program that has one stream.

        Raises:
            PlanError: it has several.
        """
        if len(self.streams) != 1:
            raise PlanError(f"there are several streams: {', '.join(self.streams)}")
        return next(iter(self.streams.values()))

    def __getitem__(self, name: str) -> list[Any]:
        return self.streams[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.streams)

    def __len__(self) -> int:
        return len(self.streams)


def run_pipeline(
    program: Streams | Build,
    mode: Literal["streaming", "batch"] = "streaming",
    *,
    cuts: Iterable[int] | None = None,
    clock: Callable[[], int] | None = None,
    monotonic: Callable[[], int] | None = None,
    backends: Literal["heap", "paged"] = "heap",
    key_groups: int | None = None,
    parallelism: int | None = None,
    restarts: bool | Literal["savepoint"] = False,
    regroup: Sequence[tuple[int, int]] = (),
    successors: Sequence[Streams | Build] = (),
    backfill: Streams | Build | None = None,
    micro_batches: int | None = None,
) -> PipelineResults:
    """The records of a program's streams, after it ran to its end.

    ``program``: a stream, streams by name, or a function from a new environment to one of these;
    sinks that the program has beside them are run as well.

    ``cuts``: how many records to take per micro-batch (shared by the sources); what is left when
    they run out is taken at once. ``key_groups``: spread keyed state over so many, instead of
    keeping it in one. ``parallelism``: of operators that set none, in place of the environment's
    (or 1). ``restarts``: begin anew from the stored state after every micro-batch, as after a crash
    (with ``backends="paged"``), or, if ``"savepoint"``, as from a savepoint.
    ``regroup``: the key groups and the parallelism after each such restart, in turn.
    ``successors``: later versions of the program, with streams of the same names: each restart goes
    on with the next of them, and after the last with the program itself, in turn.
    ``backfill``: the program with sources that stop, which runs before, without being drained
    (``headrace.stop.drain``), to where they stop; then the program goes on with what it kept.
    ``micro_batches``: stop after so many, where the input has no end. ``clock``: gives the time
    (ms), asked once per micro-batch; it stands at 0 otherwise. ``monotonic``: where the clock
    jumps, the time (ms) by which intervals and timeouts are measured; else it is the clock's.

    Raises:
        PlanError: the program cannot work, or would not end.
        CheckpointError: a successor cannot go on from what the version before it kept.
        JobError: the input waits for a clock that stands still.
    """
    batch = mode == "batch"
    if cuts is not None and batch:
        raise PlanError("a batch is one micro-batch: it has no cuts")
    if restarts is True and backends != "paged":
        raise PlanError("only paged state outlives a restart", hint='backends="paged"')
    if successors and not restarts:
        raise PlanError("a program is followed by another at a restart", hint="restarts=True")
    if regroup and (restarts != "savepoint" or key_groups is None):
        raise PlanError(
            "key groups change in a savepoint only, and where there are some",
            hint='restarts="savepoint", key_groups=1',
        )
    plan, streams = _planner(program, batch)
    job = plan(key_groups, parallelism)
    restart_jobs = _jobs_after_restarts(
        program, plan, successors, batch, regroup or [(key_groups, parallelism)]
    )
    if micro_batches is None and not all(source.source.bounded for source in job.sources):
        raise PlanError(
            "a source of the program has no end", hint="say after how many micro_batches to stop"
        )
    budgets = _budgets(cuts)
    first = None
    if backfill is not None:
        first = _planner(backfill, batch, drain=False)[0](key_groups, parallelism)
    clocks = partial(RunClock, clock or ManualClock(), monotonic)
    runs = _RestartingRun(
        job, streams, clocks, budgets, backends, key_groups, restarts, restart_jobs, first
    )
    try:
        while runs.has_more and runs.run.batch_id != micro_batches:
            if restarts and runs.run.batch_id:
                runs.restart()
            planned = runs.run._planned  # a batch may take several looks at its sources
            if not runs.run.step() and runs.run._planned is planned:
                raise JobError(
                    "nothing is left to read, but the input has not ended",
                    hint="it may wait for the time: pass a clock that moves",
                )
    finally:
        runs.run.close()
    counters = dict(runs.run.accumulators())
    return PipelineResults(streams, runs.run.batch_id, counters, runs.batches)


def _planner(
    program: Streams | Build, batch: bool, drain: bool = True
) -> tuple[Planner, dict[str, list[Any]]]:
    """A function from key groups and parallelism to the job, and the streams to collect."""
    built = program
    if not isinstance(built, DataStream | Mapping):
        built = built(StreamExecutionEnvironment())
    named = {_DEFAULT_NAME: built} if isinstance(built, DataStream) else built
    if (
        not named
        or not isinstance(named, Mapping)
        or not all(isinstance(stream, DataStream) for stream in named.values())
    ):
        raise PlanError(
            f"run_pipeline was given no stream, but {built!r}",
            hint="give a stream, a dict of streams by name, or a function that returns one",
        )
    env = next(iter(named.values()))._env
    sinks = list(env._take_sinks())
    for name, stream in named.items():
        if stream._env is not env:
            raise PlanError("the streams belong to different environments")
        sink = stream._collecting_sink()
        sink.name = name
        sinks.append(sink)

    def plan(key_groups: int | None, parallelism: int | None) -> JobProgram:
        configuration = Configuration(env._configuration)
        configuration.set_string(options.TARGET.key, "local")
        configuration.set_string(options.RUNTIME_MODE.key, "BATCH" if batch else "STREAMING")
        if not drain:
            configuration.set_string(options.STOP_DRAIN.key, "false")
        if parallelism is not None or options.read(configuration, options.PARALLELISM) is None:
            configuration.set_integer(options.PARALLELISM.key, parallelism or 1)
        if key_groups is not None:
            configuration.set_integer(options.MAX_PARALLELISM.key, key_groups)
        return program_of(StreamGraph.of(sinks), configuration, None)

    return plan, {name: [] for name in named}


def _jobs_after_restarts(
    program: Streams | Build,
    plan: Planner,
    successors: Sequence[Streams | Build],
    batch: bool,
    layouts: Sequence[tuple[int | None, int | None]],
) -> list[bytes]:
    """The jobs after each restart: every version of the program, with every spread in turn.

    Raises:
        PlanError: a version has other streams.
    """
    plans, names = [], None
    for version in successors:
        built, streams = _planner(version, batch)
        names = names or streams.keys()
        if streams.keys() != names:
            raise PlanError(f"the streams of a successor are {', '.join(streams)}")
        plans.append(built)
    plans.append(plan)
    turns = math.lcm(len(plans), len(layouts))
    return [
        cloudpickle.dumps(plans[turn % len(plans)](*layouts[turn % len(layouts)]))
        for turn in range(turns)
    ]


def _state_layout(job: JobProgram) -> Layout:
    """What a program keeps, over however many key groups: these may change in a savepoint."""
    layout = Layout.of(job)
    parts = tuple(replace(part, key_groups=0) for part in layout.parts)
    return replace(layout, parts=parts)


def _budgets(cuts: Iterable[int] | None) -> Iterator[int]:
    return itertools.chain(cuts or (), itertools.repeat(_NO_LIMIT))


class _CollectingDelivery(Delivery):
    """Collects by the names of the streams; prints what is printed."""

    def __init__(self, streams: Mapping[str, list[Any]]) -> None:
        super().__init__()
        self._streams = streams

    def deliver(self, sink: SinkProgram, group: int, values: Any) -> None:
        """Take records that one task had for a sink."""
        if sink.sink.collects:
            self._streams[sink.name].extend(values)
        else:
            super().deliver(sink, group, values)


class _RestartingRun:
    """A local run, and the runs after its restarts."""

    def __init__(
        self,
        job: JobProgram,
        streams: Mapping[str, list[Any]],
        clocks: Callable[[], RunClock],
        budgets: Iterator[int],
        backends: str,
        key_groups: int | None,
        restarts: bool | Literal["savepoint"],
        restart_jobs: Sequence[bytes],
        backfill: JobProgram | None = None,
    ) -> None:
        self._job, self._clocks, self._budgets = job, clocks, budgets
        self._backfill = None if backfill is None else cloudpickle.dumps(backfill)
        self._main_job = None if backfill is None else cloudpickle.dumps(job)
        # as it is before any function was called: what they keep in attributes is lost
        self._restart_jobs = itertools.cycle(
            restart_jobs or ([cloudpickle.dumps(job)] if restarts else [])
        )
        self._by_savepoint = restarts == "savepoint"
        self._delivery = _CollectingDelivery(streams)
        self._one_key_group = key_groups is None
        self._stores: dict[tuple[str, int], HeldPages] = {}
        self._heap: dict[tuple[str, int], HeapBackend] = {}
        self._paged = backends == "paged"
        self.batches: list[BatchCounts] = []
        self.run = self._start(backfill or job)

    def _start(self, job: JobProgram) -> LocalRun:
        return LocalRun(
            job,
            self._delivery,
            self._clocks(),
            self._budgets,
            self._backend,
            self._one_key_group,
            (self,),
            clock_ns=lambda: 0,
        )

    def on_batch(self, counts: BatchCounts) -> None:
        """Keep the counts of a micro-batch."""
        self.batches.append(counts)

    def _backend(self, vertex: VertexProgram, group: int) -> StateBackend:
        if not self._paged:
            return self._heap.setdefault((vertex.id, group), HeapBackend())
        store = self._stores.setdefault((vertex.id, group), HeldPages())
        groups = 1 if self._one_key_group else vertex.max_parallelism_of(group)
        return PagedBackend(store, groups, self._job.settings.page_bytes)

    @property
    def has_more(self) -> bool:
        """True while there is something to do; what a backfill has kept is handed over here."""
        if self._main_job is not None and self.run.ended:
            main_job, self._backfill, self._main_job = self._main_job, None, None
            self._continue_with(main_job, by_savepoint=self._by_savepoint or not self._paged)
        return not self.run.ended

    def restart(self) -> None:
        """Go on in a new run, with nothing but what a checkpoint keeps."""
        self._continue_with(self._backfill or next(self._restart_jobs), self._by_savepoint)

    def _continue_with(self, job: bytes, by_savepoint: bool) -> None:
        before = self.run
        if by_savepoint:
            savepoint = round_trip(self._savepoint())
            self._stores, self._heap = {}, {}
        next_job: JobProgram = pickle.loads(job)
        after = self._start(next_job.following(before.program.identity, copied=by_savepoint))
        check(_state_layout(before.program), _state_layout(after.program), ignore_unclaimed=True)
        if by_savepoint:
            restore(savepoint, after.program, self._backend)
            import_sinks(savepoint.read("sinks"), after._committers)
        # what sources wrote for themselves lies with the checkpoint
        shutil.copytree(before._directory.name, after._directory.name, dirs_exist_ok=True)
        offset = json.loads(json.dumps(before._offset.to_json()))
        after._offset = after._planned = Offset.from_json(offset)
        after._states = pickle.loads(pickle.dumps(before._states))
        after.batch_id = before.batch_id
        after.reporting.add(before.reporting.totals)
        if by_savepoint:
            after._states = splits_of(savepoint)
            after._offset = after._planned = Offset.from_json(savepoint.manifest.offset)
            after.batch_id = savepoint.manifest.batch_id
        before.close()
        self.run = after

    def _savepoint(self) -> Savepoint:
        run = self.run
        vertices = {vertex.id: vertex for stage in run.program.stages for vertex in stage}
        known = self._stores if self._paged else self._heap
        backends = {
            (at, group): self._backend(vertices[at], group)
            for at, group in known
            if at in vertices  # others kept nothing but the time
        }
        offset = run._offset.to_json()
        return savepoint_of(
            run.program, backends, run._states, offset, run.batch_id, run._committers
        )
