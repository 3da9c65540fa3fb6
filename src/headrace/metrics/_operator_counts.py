"""Counts by operator and by source, which tasks return and listeners receive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK
from headrace.metrics._merging import MetricId, MetricValue, Number, merge_subtasks

RECORDS_IN = "numRecordsIn"
RECORDS_OUT = "numRecordsOut"
LATE_RECORDS = "numLateRecordsDropped"
BYTES_IN = "numBytesIn"
BYTES_OUT = "numBytesOut"
BUSY_MS = "accumulateBusyTimeMs"
WATERMARK = "currentInputWatermark"
STATE_ENTRIES = "stateEntries"
STATE_BYTES = "stateBytes"
BAD_RECORDS = "numRecordsInErrors"
PENDING_RECORDS = "pendingRecords"
PENDING_BYTES = "pendingBytes"


@dataclass(frozen=True)
class OperatorCounts:
    """The counts of one operator.

    ``subtask``: the number of the Spark task, and for ``watermark_ms`` and ``state_*`` of the key
    group or instance; None: all subtasks together. For all together, numbers are added, and
    ``watermark_ms`` is the minimum. Over several micro-batches numbers are added too, except
    ``watermark_ms`` and ``state_*``, where the last value of each group counts.

    ``records_in``: the records of all inputs. A combiner before an exchange is a separate operator:
    the operator after the exchange counts the partial results that it receives. ``records_out``:
    the records emitted to the main output and to side outputs that have a consumer; a record with
    several consumers counts once. ``late_records_dropped``: the late records without a side output.

    Counts of a task are reported by the task's first operator, and are 0 or None in the others:
    ``bytes_in`` and ``bytes_out``, the encoded records from and to other tasks and sinks (0 on the
    local runner, which encodes nothing); ``busy_ms``, the working time of the task;
    ``watermark_ms``; ``state_entries``, the number of pairs of key and namespace with state; and
    ``state_bytes``, the size of the pages with state, without large values, which are stored
    separately. None: not known, for example for state on the heap. Groups without work since the
    run began are not included.
    """

    operator_id: str
    name: str
    uid: str | None = None
    subtask: int | None = None
    records_in: int = 0
    records_out: int = 0
    late_records_dropped: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    busy_ms: float = 0.0
    watermark_ms: int | None = None
    state_entries: int | None = None
    state_bytes: int | None = None


@dataclass(frozen=True)
class SourceCounts:
    """The records that were read from one source, and the records that are still unread.

    ``records``: the records that were read, including the ``bad_records`` that could not be
    decoded. ``watermark_ms``: the minimum over the source's splits; None if there is no watermark
    or no split. ``event_time_lag_ms``: how far the watermark is behind the wall clock; None without
    a watermark, and at the end of the input. ``pending_records`` and ``pending_bytes``: what was
    unread when the micro-batch was planned, as far as the source knew; None if it does not know.
    """

    source_id: str
    name: str
    uid: str | None = None
    records: int = 0
    bad_records: int = 0
    watermark_ms: int | None = None
    event_time_lag_ms: int | None = None
    pending_records: int | None = None
    pending_bytes: int | None = None


@dataclass(frozen=True)
class BatchCounts:
    """The counts of a committed micro-batch.

    ``operators`` and ``sources``: of this micro-batch only. ``total_operators`` and
    ``total_sources``: since the run began. Sources and sinks are operators too. ``subtasks``: the
    counts of each subtask, whose sums are in ``operators``.
    """

    batch_id: int
    operators: tuple[OperatorCounts, ...] = ()
    sources: tuple[SourceCounts, ...] = ()
    total_operators: tuple[OperatorCounts, ...] = ()
    total_sources: tuple[SourceCounts, ...] = ()
    subtasks: tuple[OperatorCounts, ...] = field(default=(), repr=False)

    def operator(self, name: str) -> OperatorCounts:
        """Return the counts, since the run began, of the only operator with this name.

        Raises:
            KeyError: no operator has this name, or several have it.
        """
        return _find_single(name, self.total_operators)

    def source(self, name: str) -> SourceCounts:
        """Return the counts, since the run began, of the only source with this name.

        Raises:
            KeyError: no source has this name, or several have it.
        """
        return _find_single(name, self.total_sources)


Counts = TypeVar("Counts", OperatorCounts, SourceCounts)


def _find_single(name: str, counts: Iterable[Counts]) -> Counts:
    found = [each for each in counts if each.name == name]
    if len(found) != 1:
        raise KeyError(f"{len(found)} of them have the name {name!r}")
    return found[0]


class JobListener(Protocol):
    """Receives the counts of a running job; any object with this method.

    A job may have several listeners. Each is called in the process that started the job, by a
    thread of the job, which waits for it. An exception of a listener fails the job.
    """

    def on_batch(self, counts: BatchCounts) -> None:
        """Called once for each committed micro-batch, in order."""


class _Named(Protocol):
    """An operator or a source of a program."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def uid(self) -> str | None: ...


def operator_counts(
    metrics: Mapping[MetricId, MetricValue], operators: Iterable[_Named], by_subtask: bool = False
) -> tuple[OperatorCounts, ...]:
    """Return the counts of each operator, in their order; those that counted nothing, too.

    ``by_subtask``: one value for each subtask that counted something.
    """
    found = _by_operator(metrics, by_subtask)
    made = []
    for operator in operators:
        own = found.get(operator.id) or ({} if by_subtask else {None: {}})
        for subtask, figures in sorted(own.items(), key=lambda each: each[0] or 0):
            made.append(_make_counts(operator, subtask, figures))
    return tuple(made)


def _by_operator(
    metrics: Mapping[MetricId, MetricValue], by_subtask: bool = False
) -> dict[str, dict[int | None, dict[str, MetricValue]]]:
    """Return the metric values by operator and subtask (None: all subtasks together)."""
    found: dict[str, dict[int | None, dict[str, MetricValue]]] = {}
    for key, entry in metrics.items():
        subtask = key.subtask if by_subtask else None
        figures = found.setdefault(key.operator, {}).setdefault(subtask, {})
        figures[key.metric] = merge_subtasks(figures.get(key.metric), entry)
    return found


def _make_counts(
    operator: _Named, subtask: int | None, figures: Mapping[str, MetricValue]
) -> OperatorCounts:
    def number(metric: str) -> int:
        return int(_find_value(figures, metric) or 0)

    return OperatorCounts(
        operator.id,
        operator.name,
        operator.uid,
        subtask,
        number(RECORDS_IN),
        number(RECORDS_OUT),
        number(LATE_RECORDS),
        number(BYTES_IN),
        number(BYTES_OUT),
        float(_find_value(figures, BUSY_MS) or 0),
        _decode_watermark(_int_value(figures, WATERMARK)),
        _int_value(figures, STATE_ENTRIES),
        _int_value(figures, STATE_BYTES),
    )


def source_counts(
    metrics: Mapping[MetricId, MetricValue],
    sources: Iterable[_Named],
    watermarks: Mapping[str, int],
    now_ms: int,
) -> tuple[SourceCounts, ...]:
    """Return the counts of each source, in order; ``watermarks``: the lowest, by source id."""
    found = _by_operator(metrics)
    made = []
    for source in sources:
        figures = found.get(source.id, {}).get(None, {})
        watermark = _decode_watermark(watermarks.get(source.id))
        made.append(
            SourceCounts(
                source.id,
                source.name,
                source.uid,
                int(_find_value(figures, RECORDS_IN) or 0),
                int(_find_value(figures, BAD_RECORDS) or 0),
                watermark,
                _event_time_lag(watermark, now_ms),
                _int_value(figures, PENDING_RECORDS),
                _int_value(figures, PENDING_BYTES),
            )
        )
    return tuple(made)


def _event_time_lag(watermark: int | None, now_ms: int) -> int | None:
    ended = watermark == MAX_WATERMARK
    return None if watermark is None or ended else now_ms - watermark


def _find_value(figures: Mapping[str, MetricValue], metric: str) -> Number | None:
    entry = figures.get(metric)
    return None if entry is None else entry.value


def _int_value(figures: Mapping[str, MetricValue], metric: str) -> int | None:
    value = _find_value(figures, metric)
    return None if value is None else int(value)


def _decode_watermark(stored: int | None) -> int | None:
    return None if stored is None or stored <= MIN_WATERMARK else stored
