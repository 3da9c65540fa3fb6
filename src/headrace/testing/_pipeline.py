"""``run_pipeline``: runs a program in the test's process, without threads and without waiting."""

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
from headrace.runtime.layout import Layout, check_layout_change
from headrace.runtime.program import JobProgram, SinkProgram, VertexProgram
from headrace.runtime.savepoint.savepoint import MemorySavepoint
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.testing._clock import ManualClock
from headrace.testing._savepoints import stored

Streams = DataStream | Mapping[str, DataStream]
Build = Callable[[StreamExecutionEnvironment], Streams]
Planner = Callable[[int | None, int | None], JobProgram]
"""Plans the job for a number of key groups and a parallelism."""

_NO_LIMIT = 1 << 40
_DEFAULT_NAME = "stream"


@dataclass(eq=False)
class PipelineResults(Mapping[str, list[Any]]):
    """The records of each stream by its name, in the order of arrival.

    Equal to a dictionary of the same records. ``counters`` are the operators' counters (see
    ``MetricGroup``). ``batches`` are the counts of each micro-batch by operator and source, with
    durations of 0.
    """

    streams: dict[str, list[Any]]
    micro_batches: int = 0
    counters: dict[str, Any] = field(default_factory=dict)
    batches: list[BatchCounts] = field(default_factory=list)

    @property
    def only(self) -> list[Any]:
        """The records of the only stream.

        Raises:
            PlanError: there are several streams.
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
    """Run a program to its end, and return the records of its streams.

    Args:
        program: a stream, a dict of streams by name, or a function that takes a new environment
            and returns one of these. The program's own sinks run too.
        mode: as ``execution.runtime-mode``.
        cuts: the number of records of each micro-batch, divided among the sources; the last
            micro-batch takes all the rest. By default there is one micro-batch.
        clock: returns the time (ms); called once per micro-batch. By default the time is 0.
        monotonic: returns the time (ms) for intervals and timeouts; by default ``clock``.
        backends: where state is: in memory, or in pages of bytes, as on Spark.
        key_groups: the number of key groups, each with its own state backend; by default all
            share one.
        parallelism: for operators that set none; by default that of the environment, or 1.
        restarts: after every micro-batch, continue in a new run from the stored state, as after
            a crash; needs ``backends="paged"``. With ``"savepoint"``, continue from a savepoint
            that was written to a folder.
        regroup: key groups and parallelism after each restart from a savepoint, in turn.
        successors: later versions of the program, with streams of the same names. Each restart
            continues with the next one; after the last comes the program itself.
        backfill: a version of the program with bounded sources, which runs first, without
            draining (``headrace.stop.drain``). The program continues from its state.
        micro_batches: stop after this many; required for unbounded sources.

    Raises:
        PlanError: the arguments do not fit together, or the program is invalid.
        CheckpointError: a successor cannot continue from the state of the version before it.
        JobError: the input waits for a time that ``clock`` does not reach.
    """
    batch = mode == "batch"
    if cuts is not None and batch:
        raise PlanError("a batch runs as one micro-batch, without cuts", hint='mode="streaming"')
    if restarts is True and backends != "paged":
        raise PlanError("only paged state survives a restart", hint='backends="paged"')
    if successors and not restarts:
        raise PlanError("a successor runs after a restart only", hint="restarts=True")
    if regroup and (restarts != "savepoint" or key_groups is None):
        raise PlanError(
            "key groups can change only at a restart from a savepoint",
            hint='restarts="savepoint", key_groups=1',
        )
    plan, streams = _make_planner(program, batch)
    job = plan(key_groups, parallelism)
    restart_jobs = _jobs_after_restarts(
        program, plan, successors, batch, regroup or [(key_groups, parallelism)]
    )
    if micro_batches is None and not all(source.source.bounded for source in job.sources):
        raise PlanError(
            "a source of the program is unbounded", hint="give micro_batches, to stop after them"
        )
    budgets = _make_budgets(cuts)
    first = None
    if backfill is not None:
        first = _make_planner(backfill, batch, drain=False)[0](key_groups, parallelism)
    clocks = partial(RunClock, clock or ManualClock(), monotonic)
    runs = _RestartingRun(
        job, streams, clocks, budgets, backends, key_groups, restarts, restart_jobs, first
    )
    try:
        while runs.has_more and runs.run.batch_id != micro_batches:
            if restarts and runs.run.batch_id:
                runs.restart()
            planned = runs.run._planned  # a batch may plan several times before it runs
            if not runs.run.step() and runs.run._planned is planned:
                raise JobError(
                    "there are no more records, but the input has not ended",
                    hint="it may wait for a later time: pass a clock that moves",
                )
    finally:
        runs.run.close()
    counters = dict(runs.run.accumulators())
    return PipelineResults(streams, runs.run.batch_id, counters, runs.batches)


def _make_planner(
    program: Streams | Build, batch: bool, drain: bool = True
) -> tuple[Planner, dict[str, list[Any]]]:
    """Return a function that plans the job, and empty lists for the records of its streams."""
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
            f"run_pipeline was given {built!r}, not a stream",
            hint="give a stream, a dict of streams by name, or a function that returns one",
        )
    env = next(iter(named.values()))._env
    sinks = [*env._pending_sinks]  # without operators that no sink and no given stream reads
    env._drop_pending()
    for name, stream in named.items():
        if stream._env is not env:
            raise PlanError(
                "the streams belong to different environments",
                hint="build all streams with one StreamExecutionEnvironment",
            )
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
    """Return the pickled jobs of all restarts: each program version with each layout.

    A layout is a number of key groups and a parallelism.

    Raises:
        PlanError: a version has streams of other names.
    """
    plans, names = [], None
    for version in successors:
        built, streams = _make_planner(version, batch)
        names = names or streams.keys()
        if streams.keys() != names:
            raise PlanError(
                f"the streams of a successor are {', '.join(streams)}",
                hint=f"all successors must have the same streams: {', '.join(names)}",
            )
        plans.append(built)
    plans.append(plan)
    turns = math.lcm(len(plans), len(layouts))
    return [
        cloudpickle.dumps(plans[turn % len(plans)](*layouts[turn % len(layouts)]))
        for turn in range(turns)
    ]


def _state_layout(job: JobProgram) -> Layout:
    """Return the state layout of a program without key groups, which a savepoint may change."""
    layout = Layout.of(job)
    parts = tuple(replace(part, key_groups=0) for part in layout.parts)
    return replace(layout, parts=parts)


def _make_budgets(cuts: Iterable[int] | None) -> Iterator[int]:
    return itertools.chain(cuts or (), itertools.repeat(_NO_LIMIT))


class _CollectingDelivery(Delivery):
    """Collects the records of the streams by name; other sinks write as usual."""

    def __init__(self, streams: Mapping[str, list[Any]]) -> None:
        super().__init__()
        self._streams = streams

    def deliver(self, sink: SinkProgram, group: int, values: Any) -> None:
        if sink.sink.collects:
            self._streams[sink.name].extend(values)
        else:
            super().deliver(sink, group, values)


class _RestartingRun:
    """A local run, which ``restart`` replaces by a new run on the same state."""

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
        # Pickled before any function is called, so that a restart loses what they keep in
        # attributes.
        self._restart_jobs = itertools.cycle(
            restart_jobs or ([cloudpickle.dumps(job)] if restarts else [])
        )
        self._by_savepoint = restarts == "savepoint"
        self._delivery = _CollectingDelivery(streams)
        self._one_key_group = key_groups is None
        self._stores: dict[tuple[str, int], MemoryPages] = {}
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
            self._get_backend,
            self._one_key_group,
            (self,),
            clock_ns=lambda: 0,
        )

    def on_batch(self, counts: BatchCounts) -> None:
        """Collect the counts of a micro-batch."""
        self.batches.append(counts)

    def _get_backend(self, vertex: VertexProgram, group: int) -> StateBackend:
        if not self._paged:
            return self._heap.setdefault((vertex.id, group), HeapBackend())
        store = self._stores.setdefault((vertex.id, group), MemoryPages())
        groups = 1 if self._one_key_group else vertex.max_parallelism_of(group)
        return PagedBackend(store, groups, self._job.settings.page_bytes)

    @property
    def has_more(self) -> bool:
        """Whether the input has more; after a backfill, switch to the main job."""
        if self._main_job is not None and self.run.ended:
            main_job, self._backfill, self._main_job = self._main_job, None, None
            self._continue_with(main_job, by_savepoint=self._by_savepoint or not self._paged)
        return not self.run.ended

    def restart(self) -> None:
        """Continue in a new run, with only what a checkpoint contains."""
        self._continue_with(self._backfill or next(self._restart_jobs), self._by_savepoint)

    def _continue_with(self, job: bytes, by_savepoint: bool) -> None:
        before = self.run
        if by_savepoint:
            savepoint = stored(self._create_savepoint())
            self._stores, self._heap = {}, {}
        next_job: JobProgram = pickle.loads(job)
        after = self._start(next_job.as_successor_of(before.program.identity, copied=by_savepoint))
        check_layout_change(
            _state_layout(before.program),
            _state_layout(after.program),
            ignore_unclaimed=True,
            accept_bounds=after.program.settings.accept_bounds,
            drop_partial_matches=after.program.settings.drop_partial_matches,
        )
        if by_savepoint:
            after.restore(savepoint, ignore_unclaimed=True)
        else:
            # Files of enumerators are part of the checkpoint.
            shutil.copytree(before._directory.name, after._directory.name, dirs_exist_ok=True)
            offset = json.loads(json.dumps(before._offset.to_json()))
            after._offset = after._planned = Offset.from_json(offset)
            after._states = pickle.loads(pickle.dumps(before._states))
            after.batch_id = before.batch_id
        after.reporting.add(before.reporting.totals)
        before.close()
        self.run = after

    def _create_savepoint(self) -> MemorySavepoint:
        vertices = {vertex.id: vertex for stage in self.run.program.stages for vertex in stage}
        known = self._stores if self._paged else self._heap
        # Vertices that are not known have no state but the time.
        at_hand = [at for at in known if at[0] in vertices]
        return self.run.savepoint({at: self._get_backend(vertices[at[0]], at[1]) for at in at_hand})
