"""The local runner: all operators run in this Python process, without JVM and workers.

It is for tests, notebooks and debugging. Micro-batches run one after another: each passes all
stages and sinks before the next one starts.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from headrace.common.job_client import StateAnswer
from headrace.connector import Budget, CommitBy, WriterContext
from headrace.errors import JobError
from headrace.metrics._merging import Number, figures
from headrace.metrics._operator_counts import JobListener
from headrace.planner.single_key_group import single_key_group
from headrace.runners.clock import RunClock, wall_clock_ms
from headrace.runners.delivery import Delivery
from headrace.runners.observers import BatchProgress, Observers, Phases
from headrace.runners.reporting import Reporting
from headrace.runners.sinks import (
    SinkWriting,
    make_committer,
)
from headrace.runners.splits import splits_of
from headrace.runners.tasks import Tasks
from headrace.runtime.block import ALL_GROUPS, Envelope, Kind, isolate_for_receiver, records_of
from headrace.runtime.context import TaskInfo
from headrace.runtime.coordination.coordinator import Coordinator, merge_states, source_watermarks
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.failure import sink_error_notes, to_job_failure
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.program import JobProgram, SinkProgram, VertexProgram
from headrace.runtime.queries import state_reader, unknown_state_error
from headrace.runtime.savepoint.claims import check_claims
from headrace.runtime.savepoint.enumerators import (
    check_positions,
    export_enumerators,
    import_enumerators,
)
from headrace.runtime.savepoint.job_state import (
    create_savepoint,
    read_split_states,
    restore_savepoint,
)
from headrace.runtime.savepoint.savepoint import MemorySavepoint, Savepoint
from headrace.runtime.savepoint.sinks import import_sinks
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.tasks.keyed_task import TaskInput
from headrace.runtime.tasks.source_task import SplitState
from headrace.runtime.tasks.stage_call import MakeBackend, StageCall

if TYPE_CHECKING:
    from headrace.runners.captures import LocalCaptures

IDLE_SLEEP_SECONDS = 0.01
UNLIMITED = 1 << 60


class LocalRun:
    """One run of a job. ``step`` runs one micro-batch, ``run`` all of them.

    Arguments for tests: ``budgets`` yields the maximum number of records of each micro-batch,
    ``backends`` makes the state backends, ``one_key_group=False`` keeps the program's key groups,
    and ``clock_ns`` measures the time that tasks take. ``listeners`` are called after each
    committed micro-batch, and so are ``observers``.
    """

    def __init__(
        self,
        program: JobProgram,
        delivery: Delivery,
        clock: RunClock | None = None,
        budgets: Iterator[int] | None = None,
        backends: MakeBackend | None = None,
        one_key_group: bool = True,
        listeners: Sequence[JobListener] = (),
        clock_ns: Callable[[], int] = time.perf_counter_ns,
        observers: Observers | None = None,
    ) -> None:
        key_groups = {v.id: v.groups for stage in program.stages for v in stage}
        if one_key_group:
            program = single_key_group(replace(program, parallelism=1))
        self.program = program
        self.delivery = delivery
        self.batch_id = 0
        self._clock, self._budgets = clock or RunClock(), budgets
        self.reporting = Reporting(program, listeners)
        self._observers = observers or Observers()
        folder = program.settings.capture_dir
        self._captures: LocalCaptures | None = None
        if folder and backends is None:  # what other backends hold is not recorded
            from headrace.runners.captures import LocalCaptures  # a tenth of the time to start

            self._captures = LocalCaptures(folder, program)
        self._backends = backends or self._new_backend
        self._states: dict[tuple[str, str], SplitState] = {}
        self._heap: dict[tuple[str, int], StateBackend] = {}
        self._directory = tempfile.TemporaryDirectory(prefix="headrace-local-")
        enumerators = {
            s.id: s.source.enumerator(self._enumerator_folder(s.id)) for s in program.sources
        }
        self._coordinator = Coordinator(program, enumerators, lambda epoch: self._states)
        here = TaskInfo(clock_ns=clock_ns)
        self._tasks = Tasks(program, here, key_groups)
        self.metrics = self._tasks.metrics
        self._source_task = self._tasks.source()
        self._committers = {
            sink.id: make_committer(program, sink)
            for sink in program.sinks
            if not delivery.takes(sink) and sink.sink.commits is CommitBy.DRIVER
        }
        self._offset: Offset = self._coordinator.initial(self._clock.began.wall_ms)
        self._planned = self._offset

    @property
    def ended(self) -> bool:
        """Whether all sources have been read to their end, or to where they stop."""
        return self._coordinator.has_ended(self._offset)

    def savepoint(
        self, backends: Mapping[tuple[str, int], StateBackend] | None = None
    ) -> MemorySavepoint:
        """Return a savepoint after the last micro-batch.

        ``backends``: those by operator and key group, if another has made them.
        """
        known = {vertex.id for stage in self.program.stages for vertex in stage}
        backends = self._heap if backends is None else backends
        savepoint = create_savepoint(
            self.program,
            {at: backend for at, backend in backends.items() if at[0] in known},
            self._states,
            self._offset.to_json(),
            self.batch_id,
            self._committers,
            partial(self._tasks.convert_state, now_ms=self._offset.now_ms),
        )
        kept = export_enumerators(self.program.sources, self._enumerator_folder)
        savepoint.add("enumerators", kept)
        return savepoint

    def query_state(self, id_: str, uid: str, name: str, keys: Sequence[Any]) -> StateAnswer:
        """Return the state of an operator's keys after the last micro-batch.

        ``keys``: as state has them.

        Raises:
            ConfigurationError: no state of the operator has this name.
            UnsupportedError: it is state of windows.
        """
        groups = self.program.vertex(id_).groups
        found = {
            group: backend
            for (operator, group), backend in self._heap.items()
            if operator == id_ and group != ALL_GROUPS
        }
        readers = {group: state_reader(backend, name) for group, backend in found.items()}
        if found and not any(readers.values()):
            known = {each for backend in found.values() for each in backend.kinds()}
            raise unknown_state_error(uid, name, known)
        values = []
        for key in keys:
            read = readers.get(key_group_of(key, groups))
            values.append(None if read is None else read(key))
        return StateAnswer(self.batch_id - 1, values)

    def _enumerator_folder(self, source_id: str) -> str:
        return f"{self._directory.name}/source-{quote(source_id, safe='')}"

    def restore(self, savepoint: Savepoint, ignore_unclaimed: bool = False) -> None:
        """Continue from a savepoint; before the first micro-batch.

        Raises:
            CheckpointError: it is damaged, or the program has no owner for some of its state.
        """
        check_claims(savepoint, self.program, ignore_unclaimed)
        check_positions(savepoint)
        restore_savepoint(savepoint, self.program, self._get_backend)
        import_enumerators(savepoint.read("enumerators"), self._enumerator_folder)
        import_sinks(savepoint.read("sinks"), self._committers, ignore_unclaimed)
        self._states = read_split_states(savepoint)
        self._offset = self._planned = Offset.from_json(savepoint.manifest.offset)
        self.batch_id = savepoint.manifest.batch_id

    def drain(self) -> None:
        """Run a last micro-batch, which ends event time where the sources are."""
        if not self.ended:
            self._planned = self._coordinator.drained(self._offset, self._clock.time(self._offset))
            self._run_to(self._planned)

    def accumulators(self) -> dict[str, Number]:
        """Return the values of the counters in committed micro-batches, by name."""
        return figures(self.reporting.totals)

    def step(self) -> bool:
        """Run one micro-batch; return False if there was nothing to do."""
        try:
            return self._run_batch()
        except KeyboardInterrupt:
            if threading.current_thread() is threading.main_thread():
                raise  # the user's Ctrl-C
            raise JobError("a function of the job raised KeyboardInterrupt") from None
        except BaseException as error:
            failure = to_job_failure(error)
            if failure is error:
                raise
            raise failure from None

    def _run_batch(self) -> bool:
        began_ns = time.perf_counter_ns()
        end = self._next_offset()
        if end is self._offset:
            return False
        self._run_to(end, began_ns)
        return True

    def _run_to(self, end: Offset, began_ns: int | None = None) -> None:
        """Run the micro-batch up to an offset, the planning of which began at ``began_ns``."""
        started_ms = wall_clock_ms()
        # Between the phases:
        moments = [time.perf_counter_ns() if began_ns is None else began_ns]
        self.metrics.begin_attempt()
        sink_envelopes: list[Envelope] = []
        pending_by_stage: dict[int, list[Envelope]] = {}
        split_states: list[Mapping[tuple[str, str], SplitState]] = []
        tasks = self._coordinator.reporting_plan(self._offset, end)
        moments.append(time.perf_counter_ns())
        for task in tasks:
            self._route_envelopes(
                self._source_task.run(task), pending_by_stage, sink_envelopes, split_states
            )
        moments.append(time.perf_counter_ns())
        for number in range(1, len(self.program.stages) + 1):
            self._run_stage(
                number,
                pending_by_stage.pop(number, []),
                pending_by_stage,
                sink_envelopes,
                split_states,
            )
        moments.append(time.perf_counter_ns())
        counted = self.metrics.values()  # before the commit, as a gauge may fail
        self._write(sink_envelopes)
        self.reporting.add(counted)
        self._states = merge_states(self._states, split_states)
        self._offset = end
        self._coordinator.report_committed(end)
        self.batch_id += 1
        watermarks = source_watermarks(self._states)
        self.reporting.report(self.batch_id - 1, counted, watermarks, end.now_ms)
        if self._observers:
            moments.append(time.perf_counter_ns())
            self._observers.batch(
                BatchProgress(
                    self.batch_id - 1,
                    started_ms,
                    (moments[-1] - moments[0]) / 1e6,
                    wall_clock_ms(),
                    Phases(*((to - at) / 1e6 for at, to in itertools.pairwise(moments))),
                    counted,
                    self.reporting.totals,
                    watermarks,
                    lambda: splits_of(end, self._coordinator.pending_by_split(end)),
                    self.program,
                )
            )

    def _next_offset(self) -> Offset:
        budget = None
        if self.program.batch:
            budget = Budget(UNLIMITED, UNLIMITED)
        elif self._budgets is not None:
            records = next(self._budgets)
            budget = Budget(records, max(records, 1) * 16)
        start = self._planned
        end = self._coordinator.latest(start, self._clock.time(start), budget)
        if not self.program.batch or end is start:
            self._planned = end
            return end if end is not start else self._offset
        # A batch is a single micro-batch, which starts when all of its input is planned.
        self._planned = end.merged_with_earlier(start)
        return self._planned if self._coordinator.has_ended(end) else self._offset

    def _route_envelopes(
        self,
        envelopes: Iterator[Envelope],
        pending_by_stage: dict[int, list[Envelope]],
        sink_envelopes: list[Envelope],
        split_states: list[Mapping[tuple[str, str], SplitState]],
    ) -> None:
        """Sort envelopes by destination: a later stage, the sinks, or the split states.

        Adds them to the last three arguments. ``pending_by_stage``: the input of later stages.
        """
        for envelope in envelopes:
            if envelope.kind == Kind.SOURCE_STATE:
                split_states.append(envelope.payload[1])
                continue
            if envelope.kind == Kind.DATA:
                envelope = envelope._replace(payload=isolate_for_receiver(envelope.payload))
            if envelope.stage == self.program.sink_stage:
                sink_envelopes.append(envelope)
            else:
                pending_by_stage.setdefault(envelope.stage, []).append(envelope)

    def _run_stage(
        self,
        stage_number: int,
        envelopes: list[Envelope],
        pending_by_stage: dict[int, list[Envelope]],
        sink_envelopes: list[Envelope],
        split_states: list[Mapping[tuple[str, str], SplitState]],
    ) -> None:
        """Run all groups of a stage that have input, and route their output."""
        vertices = {vertex.id: vertex for vertex in self.program.stages[stage_number - 1]}
        by_group: dict[tuple[str, int], list[Envelope]] = {}
        for envelope in sorted(envelopes, key=lambda e: (e.sender, e.seq)):
            by_group.setdefault((envelope.target, envelope.group), []).append(envelope)
        work = StageCall(self._get_backend)
        for target, group in [at for at in by_group if at[1] == ALL_GROUPS]:
            received = by_group.pop((target, group))
            blocks = [envelope.payload for envelope in received]
            work.broadcast(vertices[target], blocks, [envelope.sender for envelope in received])
            for each in range(vertices[target].groups):
                by_group.setdefault((target, each), [])
        for target, group in sorted(by_group):
            received = by_group[target, group]
            blocks = [envelope.payload for envelope in received]
            now_ms = max((block.now_ms for block in blocks), default=0)
            task = TaskInput(group, blocks, now_ms, [envelope.sender for envelope in received])
            vertex = vertices[target]
            keyed, backend = (
                self._tasks.get_keyed_task(vertex, group),
                self._get_backend(vertex, group),
            )
            if self._captures is None:
                output = work.run_group(keyed, task, backend)
            else:
                output = self._captures.run_call(work, keyed, task, backend)
            self._route_envelopes(output, pending_by_stage, sink_envelopes, split_states)
        self._route_envelopes(work.drain(), pending_by_stage, sink_envelopes, split_states)

    def _get_backend(self, vertex: VertexProgram, group: int) -> StateBackend:
        backend = self._heap.get((vertex.id, group))
        if not isinstance(backend, HeapBackend):
            backend = self._heap[vertex.id, group] = self._backends(vertex, group)
        return backend

    def _new_backend(self, vertex: VertexProgram, group: int) -> StateBackend:
        """Create a state backend on the heap; in pages, as on Spark, if failed calls are captured.

        On the heap values change in place, so the state before the failed call would be lost.
        """
        if self._captures is None or self.program.batch:
            return HeapBackend(for_pages=not self.program.batch)
        return self._captures.backend(vertex, group)

    def _write(self, envelopes: list[Envelope]) -> None:
        by_sink: dict[str, list[Envelope]] = {sink.id: [] for sink in self.program.sinks}
        for envelope in envelopes:
            by_sink[envelope.target].append(envelope)
        for sink in self.program.sinks:
            received = sorted(by_sink[sink.id], key=lambda e: (e.sender, e.seq))
            if self.delivery.takes(sink):
                with sink_error_notes(sink, "delivering"):
                    for envelope in received:
                        self.delivery.deliver(sink, envelope.group, records_of(envelope.payload))
                continue
            committable = None
            if received:
                context = WriterContext(
                    self.program.sink_id(sink),
                    self.program.name,
                    self.batch_id,
                    0,
                    f"local-{self.batch_id}",
                    worker=self._tasks.resources,
                )
                with SinkWriting(sink, context) as writing:
                    for envelope in received:
                        writing.write(envelope.payload)
                    committable = writing.prepare_commit()
            committer = self._committers.get(sink.id)
            if committer is not None:
                with sink_error_notes(sink, "committing"):
                    committer.commit(self.batch_id, [] if committable is None else [committable])

    def _finish(self, sink: SinkProgram) -> None:
        with sink_error_notes(sink, "publishing its pending data"):
            self._committers[sink.id].finish()

    def run(
        self,
        cancelled: Callable[[], bool] = lambda: False,
        between: Callable[[], None] = lambda: None,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Run micro-batches until the input ends or ``cancelled`` returns True; then close.

        ``between`` is called between two micro-batches, ``at_end`` after the last.
        """
        try:
            while not self.ended and not cancelled():
                if not self.step():
                    time.sleep(IDLE_SLEEP_SECONDS)
                between()
            at_end()
        except BaseException as error:
            try:
                self.close()
            except Exception as late:
                error.add_note(f"and closing failed: {type(late).__name__}: {late}")
            raise
        self.close()

    def close(self) -> None:
        """Close functions, sources and sinks, all of them even if some fail."""
        with contextlib.ExitStack() as stack:  # closed in reverse order
            stack.callback(self._directory.cleanup)
            stack.callback(self._coordinator.close)
            stack.callback(self._tasks.close)
            if self.ended and not self._coordinator.is_suspended(self._offset):
                for sink in reversed(self.program.sinks):
                    if sink.id in self._committers:
                        stack.callback(self._finish, sink)
