"""The metrics of a running job, under Flink's names.

Metrics that Headrace does not measure are left out; they are never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK
from headrace.common.job_status import JobStatus
from headrace.metrics import _operator_counts as names
from headrace.metrics._merging import MetricOrigin, MetricValue, Number
from headrace.runners.job_graph import OperatorInfo, VertexInfo
from headrace.runners.reporters.run import RATE_SPAN_S, WAITED_MS, Run
from headrace.runners.reporters.samples import Groups, Kind, Sample, Scope, Summary
from headrace.runners.subtasks import CountKey

_NAME_LENGTH = 80
"""Flink cuts operators' names in metrics to this length."""

RUNNING_JOBS = "numRunningJobs"

BUSY = "busyTimeMsPerSecond"
WAITED = "backPressuredTimeMsPerSecond"
IDLE = "idleTimeMsPerSecond"
ALL_WAITED = "accumulateBackPressuredTimeMs"
ALL_IDLE = "accumulateIdleTimeMs"

_RATE = "PerSecond"
_SECOND_MS = 1000


Loads = Callable[[str], Mapping[int, Mapping[str, Number]]]
"""Returns how each task of a vertex spends its time (ms), by subtask and metric.

Tasks of which nothing is known are left out.
"""


class Snapshot:
    """The metrics of a run at one moment."""

    def __init__(self, run: Run, host: str, now_ms: int) -> None:
        self._run, self._now_ms = run, now_ms
        self._figures = run.figures
        self._rates: dict[int, Callable[[CountKey], float | None]] = {}
        self._is_running = run.status is JobStatus.RUNNING and run.failed_ms is None
        job = run.job
        self._driver = {"host": host}
        self._job = {"host": host, "job_id": job.job_id, "job_name": job.name}
        self._worker = {"host": host, "tm_id": job.location, **self._job}
        self._subtasks: dict[str, set[int]] = {}
        for operator, subtask, _ in self._figures.by_key:
            self._subtasks.setdefault(operator, set()).add(subtask)

    def samples(self) -> Iterator[Sample]:
        """Yield the metrics of the job, then those of each task and its operators."""
        yield from self._job_samples()
        if self._run.batch is None:
            return
        graph = self._run.job.graph
        outputs = {edge.source for edge in graph.edges if not edge.chained}
        by_id = {operator.id: operator for operator in graph.operators}
        for vertex in graph.vertices:
            operators = [by_id[each] for each in vertex.operators]
            found = [self._subtasks.get(operator.id, set()) for operator in operators]
            for subtask in sorted(set().union(*found)) or [0]:
                task = self._task_variables(vertex, operators[0].kind, subtask)
                exits = [each for each in vertex.operators if each in outputs]
                yield from self._task_samples(vertex, exits, subtask, task)
                for operator in operators:
                    yield from self._operator_samples(operator, vertex, subtask, task)

    # The job.

    def _job_samples(self) -> Iterator[Sample]:
        run = self._run
        yield self._gauge(Scope.JOB_MANAGER, RUNNING_JOBS, int(self._is_running), self._driver)
        slots = run.job.find_slots()
        tasks = run.job.cores if slots is None else slots.tasks
        yield self._gauge(Scope.JOB_MANAGER, "taskSlotsTotal", tasks, self._driver)
        if slots is not None:
            name = "numRegisteredTaskManagers"
            yield self._gauge(Scope.JOB_MANAGER, name, slots.executors, self._driver)
        for name, value in self.of_job().items():
            yield self._gauge(Scope.JOB, name, value, self._job)

    def of_job(self) -> dict[str, Number]:
        """Return the metrics of the job itself, by name."""
        run, now_ms, is_running = self._run, self._now_ms, self._is_running
        up_ms = now_ms - run.running_since_ms if is_running else 0
        down_ms = 0 if run.failed_ms is None else now_ms - run.failed_ms
        is_ended = run.status is not JobStatus.RUNNING
        values: dict[str, Number] = {
            "uptime": -1 if is_ended else up_ms,
            "downtime": -1 if is_ended else down_ms,
            "runningTime": up_ms,
            "restartingTime": 0 if is_ended else down_ms,
            "numRestarts": run.restarts,
            "fullRestarts": run.restarts,
        }
        if run.job.checkpoint is None:
            return values
        in_progress = int(is_running and run.job.has_open_batch())
        values |= {
            "totalNumberOfCheckpoints": run.batches + run.failures + in_progress,
            "numberOfInProgressCheckpoints": in_progress,
            "numberOfCompletedCheckpoints": run.batches,
            "numberOfFailedCheckpoints": run.failures,
        }
        if run.batch is None:
            return values
        values |= {
            "lastCompletedCheckpointId": run.batch.batch_id,
            "lastCheckpointDuration": round(run.batch.duration_ms),
            "lastCheckpointCompletedTimestamp": run.batch.now_ms,
        }
        added_bytes = run.batch.find_checkpoint_bytes()
        if added_bytes is not None:
            values["lastCheckpointSize"] = added_bytes
        sizes = [
            value.value
            for (_, _, metric), value in self._figures.by_key.items()
            if metric == names.STATE_BYTES
        ]
        if sizes:
            values["lastCheckpointFullSize"] = sum(sizes)
        return values

    # Tasks.

    def _task_variables(self, vertex: VertexInfo, kind: str, subtask: int) -> dict[str, str]:
        run = self._run
        return {
            **self._worker,
            "task_id": vertex.id,
            "task_name": _flink_name(vertex.name, kind),
            "task_attempt_id": f"{run.job.job_id}_{vertex.id}_{subtask}_{run.restarts}",
            "task_attempt_num": str(run.restarts),
            "subtask_index": str(subtask),
        }

    def _task_samples(
        self, vertex: VertexInfo, exits: list[str], subtask: int, variables: dict[str, str]
    ) -> Iterator[Sample]:
        scope, head = Scope.TASK, vertex.id
        yield from self._counter(scope, (head, subtask, names.RECORDS_IN), variables)
        if exits:
            out = [(each, subtask, names.RECORDS_OUT) for each in exits]
            yield from self._counter(scope, out[0], variables, *out[1:])
        for metric in (names.BYTES_IN, names.BYTES_OUT):
            if self._figures.number(head, subtask, metric) is not None:
                yield from self._counter(scope, (head, subtask, metric), variables)
        watermark = self._input_watermark(vertex, subtask)
        if watermark is not None:
            yield self._gauge(scope, names.WATERMARK, watermark, variables)
        busy_ms = self._figures.number(head, subtask, names.BUSY_MS)
        if busy_ms is not None:
            yield self._gauge(scope, names.BUSY_MS, round(busy_ms), variables)
            for name, value in self._load(head, subtask).items():
                yield self._gauge(scope, name, value, variables)

    def loads(self, vertex_id: str) -> dict[int, dict[str, Number]]:
        """Return how each task of a vertex spends its time, by subtask; without unknown ones."""
        return {
            subtask: self._load(vertex_id, subtask)
            for subtask in sorted(self._subtasks.get(vertex_id, ()))
            if self._figures.number(vertex_id, subtask, names.BUSY_MS) is not None
        }

    def _load(self, head: str, subtask: int) -> dict[str, Number]:
        """Return how a task spends its time; back pressure only if it is known."""
        rates = self._rates_over(RATE_SPAN_S)
        busy = min(rates((head, subtask, names.BUSY_MS)) or 0.0, float(_SECOND_MS))
        waited = rates((head, subtask, WAITED_MS))
        idle = _SECOND_MS - busy
        all_busy = self._figures.number(head, subtask, names.BUSY_MS) or 0
        all_waited = self._figures.number(head, subtask, WAITED_MS) or 0
        all_idle = max(round(self._run.measured_ms(self._now_ms) - all_busy - all_waited), 0)
        if waited is None:
            return {BUSY: busy, IDLE: round(idle), ALL_IDLE: all_idle}
        waited = min(waited, idle)
        return {
            ALL_WAITED: round(all_waited),
            ALL_IDLE: all_idle,
            WAITED: round(waited),
            BUSY: busy,
            IDLE: round(idle - waited),
        }

    def _input_watermark(self, vertex: VertexInfo, subtask: int) -> Number | None:
        found = self._figures.number(vertex.id, subtask, names.WATERMARK)
        return None if found is None or found <= MIN_WATERMARK else found

    # Operators.

    def _operator_samples(
        self, operator: OperatorInfo, vertex: VertexInfo, subtask: int, task: dict[str, str]
    ) -> Iterator[Sample]:
        name = _flink_name(operator.name, operator.kind)[:_NAME_LENGTH]
        variables = {**task, "operator_id": operator.id, "operator_name": name}
        scope, key = Scope.OPERATOR, (operator.id, subtask)
        yield from self._counter(scope, (*key, names.RECORDS_IN), variables)
        if operator.kind == "sink":
            sent = self._figures.number(*key, names.RECORDS_IN) or 0
            yield self._sample(scope, "numRecordsSend", Kind.COUNTER, sent, variables)
        else:
            yield from self._counter(scope, (*key, names.RECORDS_OUT), variables)
        if operator.kind == "source":
            yield from self._source_samples(operator, subtask, variables)
        for metric in (names.STATE_ENTRIES, names.STATE_BYTES):
            found = self._figures.number(*key, metric)
            if found is not None:
                yield self._gauge(scope, metric, found, variables)
        yield from self._watermarks(operator, vertex, subtask, variables)
        yield from self._user_samples(operator, subtask, variables)

    def _watermarks(
        self, operator: OperatorInfo, vertex: VertexInfo, subtask: int, variables: dict[str, str]
    ) -> Iterator[Sample]:
        """Yield an operator's watermarks, as far as its task's watermark determines them.

        For the task of a source, the watermark that it emits is known; for other tasks, the one
        that arrives.
        """
        batch, chain = self._run.batch, self._run.chains.get(vertex.id)
        if batch is None or chain is None:
            return
        makes, gets_new = chain
        if vertex.stage == 0:
            watermark: Number | None = batch.watermarks.get(vertex.id)
            is_before = bool(makes) and operator.id not in gets_new
            has_input = operator.kind != "source" and not is_before and operator.id not in makes
            has_output = operator.kind == "source" or not is_before
        else:
            watermark = self._input_watermark(vertex, subtask)
            has_input = operator.id not in gets_new - makes
            has_output = operator.id not in gets_new
        if watermark is None or watermark <= MIN_WATERMARK:
            return
        if has_input:
            yield self._gauge(Scope.OPERATOR, names.WATERMARK, watermark, variables)
        if has_output:
            yield self._gauge(Scope.OPERATOR, "currentOutputWatermark", watermark, variables)

    def _source_samples(
        self, source: OperatorInfo, subtask: int, variables: dict[str, str]
    ) -> Iterator[Sample]:
        scope, batch = Scope.OPERATOR, self._run.batch
        errors = self._figures.number(source.id, subtask, names.BAD_RECORDS) or 0
        yield self._sample(scope, names.BAD_RECORDS, Kind.COUNTER, errors, variables)
        for metric in (names.PENDING_RECORDS, names.PENDING_BYTES):
            left = self._figures.number(source.id, subtask, metric)
            if left is not None:
                yield self._gauge(scope, metric, left, variables)
        if batch is not None:
            watermark = batch.watermarks.get(source.id)
            if watermark is not None and MIN_WATERMARK < watermark < MAX_WATERMARK:
                yield self._gauge(scope, "watermarkLag", self._now_ms - watermark, variables)
            if subtask == min(self._subtasks.get(source.id, {subtask})):
                yield from self._split_samples(source.id, variables)

    def _split_samples(self, source_id: str, variables: dict[str, str]) -> Iterator[Sample]:
        """Yield the metrics of splits, all with one subtask: any task may read a split next."""
        splits = self._run.splits.get(source_id, {})
        if not splits:
            return
        program = next(each for each in self._run.job.program.sources if each.id == source_id)
        status = {name: (each.position, each.pending_records) for name, each in splits.items()}
        for found in program.source.split_metrics(status):
            for name, value in found.gauges.items():
                kind = Kind.GAUGE
                yield Sample(Scope.OPERATOR, name, kind, value, variables, found.groups)

    def _user_samples(
        self, operator: OperatorInfo, subtask: int, variables: dict[str, str]
    ) -> Iterator[Sample]:
        """Yield the metrics that functions registered."""
        distributions: dict[tuple[Groups, str], dict[str, Number]] = {}
        for key, value in self._by_operator.get((operator.id, subtask), ()):
            origin = value.origin
            if origin is None:
                continue
            if origin.kind == "distribution":
                parts = distributions.setdefault((origin.groups, origin.name), {})
                parts[origin.suffix] = value.value
            elif origin.kind == "meter":
                rate = self._rates_over(origin.span_s)(key) or 0.0
                yield self._user_sample(origin, Kind.METER, rate, variables, value.value)
            else:
                yield self._user_sample(origin, Kind(origin.kind), value.value, variables)
        for (groups, name), parts in distributions.items():
            summary = Summary(
                parts.get("count", 0), parts.get("sum", 0), parts.get("min"), parts.get("max")
            )
            origin = MetricOrigin("distribution", groups, name)
            yield self._user_sample(origin, Kind.HISTOGRAM, summary, variables)

    @cached_property
    def _by_operator(self) -> dict[tuple[str, int], list[tuple[CountKey, MetricValue]]]:
        found: dict[tuple[str, int], list[tuple[CountKey, MetricValue]]] = {}
        for key, value in self._figures.by_key.items():
            found.setdefault(key[:2], []).append((key, value))
        return found

    # Samples.

    def _user_sample(
        self,
        origin: MetricOrigin,
        kind: Kind,
        value: Number | Summary,
        variables: Mapping[str, str],
        count: Number | None = None,
    ) -> Sample:
        scope = Scope.OPERATOR
        return Sample(scope, origin.name, kind, value, variables, origin.groups, count, True)

    def _counter(
        self, scope: Scope, key: CountKey, variables: Mapping[str, str], *others: CountKey
    ) -> Iterator[Sample]:
        """Yield the sum of several counts, and its rate, under the name of the first count."""
        keys, name = (key, *others), key[2]
        count = sum(self._figures.numbers.get(each, 0) for each in keys)
        rates = self._rates_over(RATE_SPAN_S)
        rate = float(sum(rates(each) or 0.0 for each in keys))
        yield self._sample(scope, name, Kind.COUNTER, count, variables)
        yield Sample(scope, f"{name}{_RATE}", Kind.METER, rate, variables, count=count)

    def _gauge(
        self, scope: Scope, name: str, value: Number, variables: Mapping[str, str]
    ) -> Sample:
        return self._sample(scope, name, Kind.GAUGE, value, variables)

    def _sample(
        self, scope: Scope, name: str, kind: Kind, value: Number, variables: Mapping[str, str]
    ) -> Sample:
        return Sample(scope, name, kind, value, variables)

    def _rates_over(self, span_s: int) -> Callable[[CountKey], float | None]:
        if span_s not in self._rates:
            self._rates[span_s] = self._run.history.rates(self._now_ms, span_s)
        return self._rates[span_s]


def _flink_name(name: str, kind: str) -> str:
    """Return a name in Flink's form: sources and sinks, and their tasks, get a prefix."""
    before = {"source": "Source: ", "sink": "Sink: "}.get(kind, "")
    return name if name.startswith(before) else before + name
