"""The interfaces of connectors: sources of splits, and sinks with commits.

A ``Source`` or ``Sink`` is an immutable, picklable description. From it the engine makes

- an **enumerator** (one, beside the driver), which finds splits and decides how far each is
  read next; its decisions are JSON positions, so they can be repeated after a restart;
- **readers** (in the workers), which read planned ranges: a range that is read twice gives the
  same records in the same order;
- **writers** (in the workers) and one **committer** (beside the driver) for two-phase commit; or
  writers that commit by themselves, with a marker (``CommitBy.TASK``).
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Self, TypeVar

from headrace.common.changelog_mode import ChangelogMode
from headrace.errors import CheckpointError, PlanError

__all__ = [
    "BadRecord",
    "Budget",
    "Chunk",
    "ColumnChunk",
    "CommitBy",
    "Committer",
    "CommitterContext",
    "DeliveryGuarantee",
    "ExecutedBy",
    "JsonValue",
    "KeepsSecrets",
    "Pending",
    "Progress",
    "Sink",
    "SinkWriter",
    "Source",
    "SplitEnumerator",
    "SplitMetrics",
    "SplitRange",
    "SplitReader",
    "WorkerResources",
    "WriterContext",
    "close_value",
]

T = TypeVar("T")

JsonValue = Any
"""A value that ``json.dumps`` accepts; positions are compared after a round trip through JSON."""


class DeliveryGuarantee(Enum):
    """How often a sink writes a record if the job fails and is repeated."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


class CommitBy(Enum):
    """Which part of a sink commits its writes."""

    DRIVER = "driver"
    """A committer beside the driver, once per micro-batch, for the writes of all writers."""
    TASK = "task"
    """Each writer, in ``prepare_commit``, together with its marker (see ``Sink``)."""


class ExecutedBy(Enum):
    """Which process reads a source, or writes a sink."""

    TASKS = "tasks"
    """Tasks, with the source's enumerator and readers, or the sink's writers and committer."""
    DRIVER = "driver"
    """The user's process, for a sink that prints or collects records."""
    SPARK = "spark"
    """Spark itself, which reads or writes a DataFrame."""


class KeepsSecrets(ABC):
    """An object with passwords that is neither a source nor a sink, such as a lookup.

    Captured calls are stored without the secrets; a replay reads them from environment variables.
    """

    @property
    @abstractmethod
    def secrets(self) -> Mapping[str, str]:
        """The secrets, by the name of the environment variable from which a replay reads them."""

    @abstractmethod
    def with_secrets(self, found: Mapping[str, str]) -> Self:
        """Return a copy whose secrets are exactly ``found``, under the same names."""


@dataclass(frozen=True)
class Budget:
    """The maximum that one micro-batch may read from one source; at least one record and byte."""

    max_records: int
    max_bytes: int


@dataclass(frozen=True)
class Progress:
    """The end of the next micro-batch: the positions up to which a source is read.

    The engine stores it before anything is read. So a repeated micro-batch reads the same, even if
    the source would decide differently by then.

    Fields:
        positions: the position (JSON) of each split that continues, at the end of the micro-batch.
        finished: the splits that end in this micro-batch, with their end positions. If it is a
            plain set, or a position is None, ``ranges`` must find the same end again. A finished
            split is not named again.
        ended: whether no split is left and none will come.
        started: the first positions of new splits, other than those from ``initial``. The
            micro-batch reads from there.
    """

    positions: Mapping[str, JsonValue]
    finished: Mapping[str, JsonValue] | frozenset[str] = frozenset()
    ended: bool = False
    started: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitRange:
    """A range of a split that one reader reads: from ``start`` up to ``end``.

    Ranges of one split are listed in reading order. ``payload``: any data that the reader needs (a
    path, a part of a collection); it is pickled. ``records``: an estimate, to distribute ranges
    over tasks.
    """

    split: str
    start: JsonValue
    end: JsonValue
    payload: Any = None
    records: int = 1


@dataclass(frozen=True)
class BadRecord:
    """Raw input that could not be decoded, with the reason, the split and the position."""

    raw: bytes
    reason: str
    split: str
    position: int


@dataclass
class Chunk:
    """Consecutive records of one split, in order; at most a few thousand.

    ``timestamps`` is None, or has a value (ms since the epoch, or None) for each of ``values``.
    ``bad`` has pairs (index in ``values`` before which it was, bad record). ``skipped``: the number
    of positions that are skipped, because their content is gone, or because errors in it are
    ignored; it is counted as a metric.
    """

    values: list[Any]
    timestamps: list[int | None] | None = None
    bad: list[tuple[int, BadRecord]] = field(default_factory=list)
    skipped: int = 0


@dataclass
class ColumnChunk:
    """Consecutive records of one split, in order, as columns.

    Fields:
        batch: a ``pyarrow.RecordBatch`` of some ten thousand rows.
        shape: converts a batch to the records that ``read`` would return. It can be pickled, and
            two shapes with the same behavior are equal (see ``headrace.runtime.columns.shapes``).
        row_kind: the name of an int8 column with the values of the rows' ``RowKind``. It is not a
            field of the records.
        timestamps: an Arrow array of int64, as long as the batch (ms since the epoch, or null).
    """

    batch: Any
    shape: Callable[[Any], list[Any]]
    row_kind: str | None = None
    timestamps: Any | None = None

    @property
    def count(self) -> int:
        """The number of records."""
        found: int = self.batch.num_rows
        return found


class Pending(NamedTuple):
    """The amount of available input that is not yet read; None: unknown."""

    records: int | None = None
    size_bytes: int | None = None


class SplitMetrics(NamedTuple):
    """Gauges of one split or of several, for metric reporters.

    ``groups``: the names of the metric groups, each with a value (then it is a label) or None.
    """

    groups: tuple[tuple[str, str | None], ...]
    gauges: Mapping[str, int]


class SplitEnumerator(ABC):
    """Finds splits and plans ranges. There is one for each source of a job, beside the driver.

    It may have caches, but each answer must depend only on its JSON arguments (and on what it wrote
    to its ``directory`` before it returned a position that refers to it). The engine checks the
    answers: a violation fails the job with an error that names the rule and the source.

    ``now_ms`` is for intervals and timeouts. It advances with a monotonic clock, and does not go
    back from one run to the next. It need not be the wall clock: only differences have a meaning.
    """

    @abstractmethod
    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return the splits at the start, each with its first position.

        Called until the first micro-batch is planned, which stores the answer.
        """

    @abstractmethod
    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Decide the positions at the end of the next micro-batch.

        Splits in ``paused`` (by watermark alignment) must keep their position. New splits are in
        ``started``, and in ``positions`` or ``finished``. If nothing is new, return positions that
        are equal as JSON.
        """

    def resume(self, positions: Mapping[str, JsonValue], now_ms: int) -> Mapping[str, JsonValue]:
        """Convert positions from a previous run to the current stopping offsets.

        Called once in a run, before ``advance``, if ``Source.stops_at`` differs from that of the
        previous run, or if the previous run stopped at its end without draining. The implementation
        must replace data about the old stop in a position. The next micro-batch must start at the
        same record: nothing may be skipped or repeated.

        Raises:
            CheckpointError: the source cannot continue from these positions.
        """
        return positions

    @abstractmethod
    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return the ranges of one micro-batch; a pure function of its arguments.

        ``start`` has the start position of each split. ``end`` has the end positions of the splits
        that continue, and those of ``finished`` splits if ``advance`` returned them; other finished
        splits are read to their end.
        """

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """Return the remaining input after ``positions``, in records and bytes.

        Called for metrics only, with the positions of some or all splits. The implementation must
        not query the external system: the input that ``advance`` has seen last is enough. By
        default both amounts are unknown.
        """
        return Pending()

    def committed(self, positions: Mapping[str, JsonValue]) -> None:
        """Called when all records before ``positions`` are committed in all sinks.

        It may inform brokers. ``positions`` also has splits that the micro-batch finished, if their
        end is known. Called after each micro-batch of a stream, including the last, and with the
        checkpoint's positions when a job resumes. Not called in a batch.
        """

    def close(self) -> None:
        """Close the connections to the external system, and finish the work of ``committed``.

        Called when the job ends or is stopped, but not after every failure. By default does
        nothing.
        """


class SplitReader(ABC):
    """Reads ranges in a worker; made once per worker and run."""

    @abstractmethod
    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """Yield the records of a range, in order; always the same for the same range."""

    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk] | None:
        """Return the same records as columns; None if the reader cannot read columns.

        Called only if the operators after the source accept columns. Records that cannot be decoded
        are in a ``Chunk`` between two chunks of columns.
        """
        return None

    @property
    def has_columns(self) -> bool:
        """Whether ``read_columns`` may return columns; it is shown in the plan of a job.

        By default, whether the class overrides ``read_columns``.
        """
        return type(self).read_columns is not SplitReader.read_columns

    def close(self) -> None:
        """Close the connections and files of the reader.

        Called when the job's run ends in the worker. By default does nothing.
        """


class Source(ABC):
    """A description of a source of records. Subclasses are frozen dataclasses."""

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether the input has an end."""

    @abstractmethod
    def enumerator(self, directory: str) -> SplitEnumerator:
        """Make an enumerator. ``directory``: a local or pyarrow-URI folder that it may write to."""

    @abstractmethod
    def reader(self) -> SplitReader:
        """Make a reader."""

    @property
    def name(self) -> str:
        """The source's name in plans and errors."""
        return type(self).__name__

    @property
    def kind(self) -> str:
        """The kind of source, stored in checkpoints: its positions are valid for this kind only."""
        return type(self).__name__

    @property
    def locator(self) -> str:
        """The paths, topic or table that is read; empty if that does not identify the source."""
        return ""

    @property
    def fingerprint(self) -> str | None:
        """A digest of the source's content, for input that must not change; None for other input.

        A job is refused if the digest differs from that in its checkpoint. It must be the same in
        every interpreter.
        """
        return None

    @property
    def stops_at(self) -> str:
        """A description of the configured stop position, such as ``latest offsets``.

        Empty if the source reads to the end of its input, or never stops. A later run whose source
        stops at another position, or never, can continue the splits from their end positions (see
        ``SplitEnumerator.resume``).
        """
        return ""

    def stops(self, split: str) -> bool:
        """Return True if a split ends at ``stops_at``, False if at the end of its input."""
        return True

    def split_metrics(
        self, splits: Mapping[str, tuple[JsonValue, int | None]]
    ) -> Sequence[SplitMetrics]:
        """Return the metrics of splits, and of all of them together; by default none.

        Called by metric reporters, in the user's process. ``splits``: by split, its committed
        position and the number of its unread records (None if not known).
        """
        return ()

    @property
    def record_type(self) -> Any | None:
        """The ``TypeInformation`` of the records; None if it is not known before reading."""
        return None

    @property
    def gives(self) -> ChangelogMode | None:
        """The row kinds of the source; None: any kinds, without checks.

        By default only inserts.
        """
        return ChangelogMode.insert_only()

    @property
    def executed_by(self) -> ExecutedBy:
        """Which process reads the source."""
        return ExecutedBy.TASKS

    @property
    def reports_bad_records(self) -> bool:
        """Whether bad records go to a side output (``bad_record_tag``) and do not fail the job."""
        return self.bad_record_tag is not None

    @property
    def bad_record_tag(self) -> Any | None:
        """The ``OutputTag`` for ``BadRecord`` values; None: bad records fail the job."""
        return None


class WorkerResources:
    """Clients, connections and producers that the writers of a job share in one worker.

    The engine closes them when the run ends in this worker, or another run replaces it. A killed
    process closes nothing.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the resource of a key; the first call makes it with ``make``."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def discard(self, key: Hashable) -> None:
        """Close and remove a resource, if it exists."""
        close_value(self._made.pop(key, None))

    def close(self) -> None:
        """Close all resources in reverse order, even if some fail."""
        with contextlib.ExitStack() as stack:
            for value in self._made.values():
                stack.callback(close_value, value)
            self._made.clear()


def close_value(value: Any) -> None:
    """Call a value's ``close``, if it has one."""
    close = getattr(value, "close", None)
    if close is not None:
        close()


@dataclass(frozen=True)
class WriterContext:
    """The context of a writer.

    Fields:
        sink_id: the same for all runs on one checkpoint, and unique to this sink. A job that
            resumes from an older copy of its checkpoint may get a new one (see ``Sink``).
        job_name: the name of the job.
        batch_id: the number of the micro-batch. Committed ones count from 0 without gaps; a
            repeated one keeps its number.
        partition: the number of the task, from 0.
        attempt: unique for each run of a task, for example to distinguish files of failed attempts.
        partitions: the maximum number of tasks in a micro-batch. After a keyed stage, its number of
            partitions, which is fixed in the checkpoint. Otherwise at most the parallelism plus
            two; partitions of a DataFrame follow and are not counted.
        worker: stores the values of ``shared``.
    """

    sink_id: str
    job_name: str
    batch_id: int
    partition: int
    attempt: str
    partitions: int = 1
    worker: WorkerResources = field(default_factory=WorkerResources, compare=False, repr=False)

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Get the value under ``key``, or create it with ``make`` if there is none.

        All writers of a sink in one worker share the value, for example a client. If the value has
        a ``close()``, it is called when the job's run ends in the worker.
        """
        return self.worker.get((self.sink_id, key), make)

    def discard(self, key: Hashable) -> None:
        """Close and remove a broken value of ``shared``; the next ``shared`` creates another."""
        self.worker.discard((self.sink_id, key))


@dataclass(frozen=True)
class CommitterContext:
    """The context of a committer: the sink's id and the job's name."""

    sink_id: str
    job_name: str


class SinkWriter(ABC):
    """Writes one task's records of one micro-batch; nothing may be visible before the commit.

    ``write`` is called any number of times, then ``prepare_commit`` or ``abort``.
    """

    @abstractmethod
    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        """Write records, in order; encoded ones if the sink has a ``record_encoder``.

        ``timestamps`` has a value for each of ``values``: ms since the epoch, or None.
        """

    def write_columns(self, chunk: ColumnChunk) -> None:
        """Write records as columns; by default they are converted and passed to ``write``.

        Called if the sink ``takes_columns``; all rows are inserts, unless it ``takes_changes``.
        Records that are not available as columns are passed to ``write`` in between: all calls are
        in the order of the records.
        """
        times = chunk.timestamps
        stamps = [None] * chunk.count if times is None else times.to_pylist()
        self.write(chunk.shape(chunk.batch), stamps)

    @abstractmethod
    def prepare_commit(self) -> Any | None:
        """Flush, and return data for the committer (picklable), or None if nothing was written.

        If the sink commits by task: commit records and marker, and return None.
        """

    def abort(self) -> None:
        """Remove the written records, because the task has failed."""


class Committer(ABC):
    """Makes a micro-batch's writes visible; it runs beside the driver."""

    @abstractmethod
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Publish one micro-batch; a second call with the same id must change nothing.

        Called for each micro-batch, even without committables, in ascending order of ``batch_id``.
        After a crash the last one may be repeated, with the same content from new attempts.
        """

    def abort(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Remove what the tasks of a micro-batch have prepared, because it failed."""

    def finish(self) -> None:
        """Publish all pending data, such as unfinished files, because the input has ended."""

    def snapshot(self, last_batch: int | None = None) -> Iterator[bytes]:
        """Yield the data that is pending after the last commit, in the sink's own format.

        ``last_batch``: only data of micro-batches up to this one; None: all data. The call must not
        change anything. Each byte string has some megabytes, and their order is kept. They must
        contain all that ``restore`` needs, even if the sink's files no longer exist. Sinks without
        pending data yield nothing.
        """
        return iter(())

    def restore(self, snapshot: Iterable[bytes]) -> None:
        """Take over the pending data of another committer of the sink, from its ``snapshot``.

        Called before the first commit of a job that continues elsewhere, perhaps with another sink
        id. It replaces this committer's pending data. A second call with the same arguments must
        change nothing.

        Raises:
            CheckpointError: the sink never has pending data, or does not know the format.
        """
        if any(True for _ in snapshot):
            raise CheckpointError(
                "a sink cannot take over the pending data of another one: it keeps none itself",
                hint="use the sink that the savepoint was made with",
            )


class Sink(ABC):
    """A description of a destination of records. Subclasses are frozen dataclasses.

    **Exactly once by the driver** (``CommitBy.DRIVER``): writers write to a hidden place, and the
    committer publishes each micro-batch once.

    **Exactly once by task** (``CommitBy.TASK``), for systems whose transactions belong to a client:
    ``prepare_commit`` commits the records together with the marker ``(sink_id, partition,
    batch_id)``, in one transaction. A writer that finds its marker, or a later one of its
    partition, is a repetition: it drops its records. Such a sink may rely on this: a repeated
    micro-batch has the same ``batch_id``, and each of its partitions has the same records in the
    same order (as far as the program's functions are deterministic). That holds after a restart
    too: a changed program that would distribute records differently is refused. The ``batch_id`` of
    a partition never decreases. It may not rely on which records are in which partition in
    *different* micro-batches, nor on a partition being written in each: one without records has no
    writer. Readers may see the partitions of a micro-batch one after another. A job without a keyed
    stage that reads a DataFrame has the partitions that Spark chooses. The plan of a batch job is
    not stored: after a restart it is the same as long as its input is.

    **Older copies.** A checkpoint may be replaced by an older copy. Then the next micro-batches
    have numbers that the sink has already committed, and other records. The engine detects this by
    ``last_batch``, before anything is planned or written. It refuses the job; or, if the
    configuration allows it, all sinks get a new ``sink_id``.
    """

    @property
    def commits(self) -> CommitBy:
        """Which part of the sink commits."""
        return CommitBy.DRIVER

    @property
    def record_encoder(self) -> Callable[[Any], Any] | None:
        """Encodes each record for the writer; None: the writer gets the record itself.

        It is called in the task that emits the record, so that bytes are sent to the writer and not
        an object that must be pickled. It must be picklable.
        """
        return None

    @abstractmethod
    def writer(self, context: WriterContext) -> SinkWriter:
        """Make a writer, for one task of one micro-batch."""

    @property
    def takes_columns(self) -> bool:
        """Whether the writers accept columns (``SinkWriter.write_columns``), faster than records.

        A sink with a ``record_encoder`` gets no columns.
        """
        return False

    @property
    def takes_changes(self) -> bool:
        """Whether the columns that writers accept may be of rows of all kinds, not only inserts.

        Chunks with such rows have a ``row_kind``, which ``write_columns`` must take.
        """
        return False

    @property
    def writes_in_thread(self) -> bool:
        """Whether a task may run the writer in a thread, in parallel with other sinks' writers.

        This shortens a task that waits for several servers. The writer must not call functions of
        the user, and must not share values in ``WriterContext.shared`` with other sinks.
        """
        return False

    @property
    def commit_interval_ms(self) -> int | None:
        """After how long (ms) a micro-batch is committed although no record came.

        None: the sink needs no such commit.
        """
        return None

    def committer(self, context: CommitterContext) -> Committer:
        """Make a committer; not called for a sink that commits by task.

        Raises:
            PlanError: the sink commits by the driver and has no committer.
        """
        raise PlanError(
            f"the sink {self.name} has no committer",
            hint="write committer(), or let its commits be CommitBy.TASK",
        )

    def last_batch(self, context: CommitterContext) -> int | None:
        """Return the highest micro-batch that was committed as ``context.sink_id``; -1 for none.

        It is the highest of all partitions: some may not have been written for long, and earlier
        runs may have had more of them. Called once on the driver's machine when a job resumes; it
        must change nothing, and should wait for a server that is down as a writer would.

        None, the default: the sink does not know. Then an older copy of the checkpoint is not
        detected, and an exactly-once sink may lose or duplicate records.
        """
        return None

    @property
    def kind(self) -> str:
        """The kind of sink, stored in checkpoints."""
        return type(self).__name__

    @property
    def locator(self) -> str:
        """The path, topic or table that is written; empty if that does not identify the sink."""
        return ""

    @property
    def exclusive_name(self) -> str:
        """A name in the target system that only one sink may use; empty for none.

        A program with two sinks of the same name is refused.
        """
        return ""

    @property
    def accepts(self) -> ChangelogMode | None:
        """The row kinds that the sink accepts; None: any. By default only inserts.

        A program that declares other kinds for this sink is refused. Rows of an undeclared kind,
        which a user's function may make, are passed to the sink.
        """
        return ChangelogMode.insert_only()

    @property
    def keeps_state(self) -> bool:
        """Whether the sink may hold records back, which a later program must not lose.

        Then its committer must have ``snapshot`` and ``restore``.
        """
        return False

    @property
    def executed_by(self) -> ExecutedBy:
        """Which process writes to the sink."""
        return ExecutedBy.TASKS

    @property
    def name(self) -> str:
        """The sink's name in plans and errors."""
        return type(self).__name__
