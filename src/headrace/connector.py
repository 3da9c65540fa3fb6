"""What a connector is: a source of splits, a sink of committed writes.

A ``Source`` or ``Sink`` is a frozen, picklable description. From it the engine builds

- an **enumerator** (one, beside the driver), which finds splits and decides how far each is
  read next; everything it decides is a JSON position, so a restart can ask again;
- **readers** (in the workers), which read one planned range and nothing else, so that a range
  read twice gives the same records in the same order;
- **writers** (in the workers) and one **committer** (beside the driver): two-phase commit; or
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
    "SplitRange",
    "SplitReader",
    "WorkerResources",
    "WriterContext",
    "close_value",
]

T = TypeVar("T")

JsonValue = Any
"""What ``json.dumps`` accepts; positions are compared as they come back from JSON."""


class DeliveryGuarantee(Enum):
    """What a sink promises after a failure."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


class CommitBy(Enum):
    """Who makes a sink's writes visible."""

    DRIVER = "driver"
    """By a committer near the driver, once per micro-batch, with what all writers prepared."""
    TASK = "task"
    """By each writer, in ``prepare_commit``, together with a marker of its own (see ``Sink``)."""


class ExecutedBy(Enum):
    """Who carries a source or a sink out."""

    TASKS = "tasks"
    """Its own enumerator and readers; its own writers and committer."""
    DRIVER = "driver"
    """The user's process: a sink whose records are printed or collected there."""
    SPARK = "spark"
    """Spark itself: a DataFrame is read, or written."""


class KeepsSecrets(ABC):
    """What has passwords in it and is no source or sink: a lookup, say.

    Files of failed calls are written without the secrets, and a replay takes them from the
    environment.
    """

    @property
    @abstractmethod
    def secrets(self) -> Mapping[str, str]:
        """The secrets, by the environment variable that a replay finds each in."""

    @abstractmethod
    def with_secrets(self, found: Mapping[str, str]) -> Self:
        """A copy that has those and no other; by the same names."""


@dataclass(frozen=True)
class Budget:
    """How much one micro-batch may take from one source; at least one record and byte."""

    max_records: int
    max_bytes: int


@dataclass(frozen=True)
class Progress:
    """The positions that a source is read up to in the next micro-batch.

    The engine writes it down before anything is read, so that a micro-batch that is run again
    reads the same, even if the source would give another answer by then.

    Fields:
        positions: every split that goes on, and its position (JSON) at the end of the micro-batch.
        finished: the splits that end within it, and their end positions. A plain set (or None
            as the position) leaves the end to ``ranges``, which must then find the same end again.
            A finished split is not named again.
        ended: no split is left and none will come.
        started: the first positions of the splits that appear for the first time, other than
            those that ``initial`` named. The first micro-batch reads from here.
    """

    positions: Mapping[str, JsonValue]
    finished: Mapping[str, JsonValue] | frozenset[str] = frozenset()
    ended: bool = False
    started: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitRange:
    """One piece of work for one reader: what lies in ``split`` from ``start`` up to ``end``.

    Ranges of one split are listed in reading order. ``payload`` is whatever the reader needs
    beside (a path, a slice of a collection); it is pickled. ``records`` is an estimate used to
    spread ranges over tasks.
    """

    split: str
    start: JsonValue
    end: JsonValue
    payload: Any = None
    records: int = 1


@dataclass(frozen=True)
class BadRecord:
    """Raw input that could not be decoded, with the reason and the place it came from."""

    raw: bytes
    reason: str
    split: str
    position: int


@dataclass
class Chunk:
    """A run of records read from one split, in order: at most a few thousand.

    Shapes: ``timestamps`` is None or as long as ``values`` (milliseconds since the epoch, or
    None). ``bad`` holds pairs (index into values before which it stood, the record). ``skipped`` is
    how many positions the source leaves out because what they held is gone; it is counted.
    """

    values: list[Any]
    timestamps: list[int | None] | None = None
    bad: list[tuple[int, BadRecord]] = field(default_factory=list)
    skipped: int = 0


@dataclass
class ColumnChunk:
    """A run of records read from one split, in order, as columns.

    Fields:
        batch: a ``pyarrow.RecordBatch`` of some ten thousand rows.
        shape: turns a batch into the records that ``read`` would have given. It can be pickled, and
            two shapes that do the same are equal (see ``headrace.runtime.columns.shapes``).
        row_kind: the name of an int8 column with the values of the rows' ``RowKind``. It is no
            field of the records.
        timestamps: an Arrow array of int64, as long as the batch (ms since the epoch, or null).
    """

    batch: Any
    shape: Callable[[Any], list[Any]]
    row_kind: str | None = None
    timestamps: Any | None = None

    @property
    def count(self) -> int:
        """How many records it holds."""
        found: int = self.batch.num_rows
        return found


class Pending(NamedTuple):
    """What a source has, and nobody has read yet. None: not known."""

    records: int | None = None
    size_bytes: int | None = None


class SplitEnumerator(ABC):
    """Finds splits and plans ranges; runs near the driver, for one source of one job.

    It may keep caches, but every answer must follow from the JSON it is given (and from what
    it wrote under its ``directory`` before it returned a position that refers to it). The engine
    checks the answers: a rule that is broken fails the job with the rule and the source's name.

    ``now_ms`` is for intervals and timeouts: within a run it advances by a monotonic clock, and it
    never goes back from one run to the next. It need not be the time of day: only the difference of
    two counts.
    """

    @abstractmethod
    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """The splits known at the start, each with its first position.

        Called until the first micro-batch is planned; that one writes the answer down.
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

        Splits in ``paused`` (watermark alignment) keep their position. New splits are in
        ``started``, and in ``positions`` or ``finished``. Where nothing is new the same positions
        come back, equal as JSON.
        """

    def resume(self, positions: Mapping[str, JsonValue], now_ms: int) -> Mapping[str, JsonValue]:
        """Convert positions from a previous run to the current stopping offsets.

        Called once in a run, before ``advance``: if the source stops elsewhere than the one that
        gave the positions (``Source.stops_at``), or if that one has stopped at its end and was not
        drained. What is written in a position of the old end is replaced here. Nothing may be
        left out or read again: the same micro-batch begins at either position.

        Raises:
            CheckpointError: the source cannot go on from these positions.
        """
        return positions

    @abstractmethod
    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """The work of one micro-batch; a pure function of its arguments.

        ``start`` has every split of the micro-batch: where it stood, or its first position.
        ``end`` has the new position of those that go on, and the end position of ``finished``
        ones where ``advance`` gave it; those without are read to their end.
        """

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """What is there after ``positions``, as far as it is known: it is reported, not planned by.

        It asks nobody: what ``advance`` has seen last is enough. By default nothing is known.
        """
        return Pending()

    def committed(self, positions: Mapping[str, JsonValue]) -> None:
        """All records before ``positions`` are committed in all sinks; a broker may be informed.

        ``positions`` also names splits that the micro-batch finished, if their end is known. Called
        when a micro-batch of a stream is done, also the last one; and when a job goes on from its
        checkpoint, with the positions from there. A batch reports none.
        """

    def close(self) -> None:
        """Release what the enumerator holds; what ``committed`` has begun should be done by then.

        Called when a job ends or is stopped; where it fails, not always.
        """


class SplitReader(ABC):
    """Reads ranges inside a worker; opened once per worker process and job run."""

    @abstractmethod
    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """The records of one range, in order; the same for the same range, always."""

    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk] | None:
        """The same records as columns, if the reader has them. None: it has none.

        Called only where the operators after the source take columns. Records that cannot be
        decoded are in a ``Chunk`` between two of columns.
        """
        return None

    @property
    def has_columns(self) -> bool:
        """Whether ``read_columns`` may give columns: so the plan of a job says where they go.

        By default, whether the class has a ``read_columns`` of its own.
        """
        return type(self).read_columns is not SplitReader.read_columns

    def close(self) -> None:
        """Release what the reader holds."""


class Source(ABC):
    """A description of where records come from. Subclasses are frozen dataclasses."""

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """True when the input ends by itself."""

    @abstractmethod
    def enumerator(self, directory: str) -> SplitEnumerator:
        """A new enumerator; ``directory`` is a local or pyarrow-URI folder it may write to."""

    @abstractmethod
    def reader(self) -> SplitReader:
        """A new reader."""

    @property
    def name(self) -> str:
        """What the source is called in plans and errors."""
        return type(self).__name__

    @property
    def kind(self) -> str:
        """What the source is, for checkpoints: positions of one kind mean nothing to another."""
        return type(self).__name__

    @property
    def locator(self) -> str:
        """What it reads (paths, a topic); empty if that does not distinguish it."""
        return ""

    @property
    def fingerprint(self) -> str | None:
        """What the source holds, as a short text that is equal in every interpreter, or None.

        Where it differs from what a checkpoint was made with, the job is refused. For input that
        must stay as it is; None, the default, for input that may change.
        """
        return None

    @property
    def stops_at(self) -> str:
        """Where it stops although its input goes on, as a short text; empty where it does not.

        The splits of such a source can be read on later, from the end positions that ``advance``
        gave: by a run whose source stops elsewhere, or never (see ``SplitEnumerator.resume``).
        """
        return ""

    def stops(self, split: str) -> bool:
        """Whether a split of a source with ``stops_at`` is one that stops; else it only ends."""
        return True

    @property
    def record_type(self) -> Any | None:
        """The ``TypeInformation`` of the records; None where only reading them tells."""
        return None

    @property
    def gives(self) -> ChangelogMode | None:
        """Of which kinds its rows may be; None: of any, nothing is checked.

        Inserts only by default.
        """
        return ChangelogMode.insert_only()

    @property
    def executed_by(self) -> ExecutedBy:
        """Who reads it."""
        return ExecutedBy.TASKS

    @property
    def reports_bad_records(self) -> bool:
        """True when undecodable input goes to a tag (see ``bad_record_tag``) instead of failing."""
        return self.bad_record_tag is not None

    @property
    def bad_record_tag(self) -> Any | None:
        """The ``OutputTag`` that receives ``BadRecord`` values, or None: the job fails."""
        return None


class WorkerResources:
    """What the writers of a job share in one worker process: clients, connections, producers.

    The engine closes it when the job's run is over in that process, or replaced by another run.
    A process that is killed closes nothing.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key; ``make`` is called for the first who asks."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def discard(self, key: Hashable) -> None:
        """Close and forget a value; one that is not there is fine."""
        close_value(self._made.pop(key, None))

    def close(self) -> None:
        """Close all values, the last one first: all of them, whichever fails."""
        with contextlib.ExitStack() as stack:
            for value in self._made.values():
                stack.callback(close_value, value)
            self._made.clear()


def close_value(value: Any) -> None:
    """Call ``close`` of a value that has one."""
    close = getattr(value, "close", None)
    if close is not None:
        close()


@dataclass(frozen=True)
class WriterContext:
    """Where a writer runs.

    Fields:
        sink_id: equal for all runs on one checkpoint, different for every other sink. A job that
            goes on from an older copy of its checkpoint may get another one (see ``Sink``).
        batch_id: the number of the micro-batch; those that are committed count from 0 without
            gaps, and one that is run again keeps its number.
        partition: the number of the task, from 0.
        partitions: how many tasks a micro-batch has at most. After a keyed stage: as many as the
            stage has partitions, which do not change while the checkpoint lives. Without a keyed
            stage the tasks are those that read, at most two more than the parallelism; the
            partitions of a DataFrame come after these and are not counted.
        attempt: differs for every run of the same task, so that files of a dead attempt differ.
        worker: what ``shared`` keeps its values in.
    """

    sink_id: str
    job_name: str
    batch_id: int
    partition: int
    attempt: str
    partitions: int = 1
    worker: WorkerResources = field(default_factory=WorkerResources, compare=False, repr=False)

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value that outlives this writer: made once per worker process, key and sink.

        Its ``close()``, if it has one, is called when the job's run is over in this process.
        """
        return self.worker.get((self.sink_id, key), make)

    def discard(self, key: Hashable) -> None:
        """Close a shared value that is broken; the next ``shared`` makes a new one."""
        self.worker.discard((self.sink_id, key))


@dataclass(frozen=True)
class CommitterContext:
    """Where a committer runs: the sink's id and the job's name."""

    sink_id: str
    job_name: str


class SinkWriter(ABC):
    """Writes one task's records of one micro-batch; nothing is visible before the commit.

    The one that made it calls ``write`` any number of times, then ``prepare_commit`` or ``abort``.
    """

    @abstractmethod
    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        """Take records, in order; as the sink's ``record_encoder`` made them, if it has one.

        Shapes: ``timestamps`` is as long as ``values``: milliseconds since the epoch, or None.
        """

    def write_columns(self, chunk: ColumnChunk) -> None:
        """Take records as columns; by default they become records, and go to ``write``.

        Called where the sink ``takes_columns``; all rows are inserts. Calls of ``write`` come
        between where some records are no columns: all of them come in the order of the records.
        """
        times = chunk.timestamps
        stamps = [None] * chunk.count if times is None else times.to_pylist()
        self.write(chunk.shape(chunk.batch), stamps)

    @abstractmethod
    def prepare_commit(self) -> Any | None:
        """Flush; give back what the committer needs (picklable), or None for nothing written.

        Where the sink commits by task: commit records and marker, and give back None.
        """

    def abort(self) -> None:
        """The task failed: remove what was written."""


class Committer(ABC):
    """Makes a micro-batch's writes visible; it runs near the driver."""

    @abstractmethod
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Publish one micro-batch, once: a second call with the same id changes nothing.

        Called for every micro-batch, also with no committables, in rising order of ``batch_id``;
        after a crash the last one may come again, with equal content from new attempts.
        """

    def abort(self, batch_id: int, committables: Sequence[Any]) -> None:
        """The micro-batch failed: remove what its tasks had prepared."""

    def finish(self) -> None:
        """The input has ended: publish what is still held back (files not yet rolled)."""

    def snapshot(self, last_batch: int | None = None) -> Iterator[bytes]:
        """What is held back after the last commit, as pieces in a form of the sink's own.

        ``last_batch``: only what micro-batches up to this one wrote; None: all of it.
        Nothing changes here. Pieces have some megabytes each, and an order. They hold all that
        ``restore`` needs: what the committer keeps elsewhere may be gone by then. Sinks that hold
        nothing back give no pieces.
        """
        return iter(())

    def restore(self, held: Iterable[bytes]) -> None:
        """Hold back what another committer of the sink held back: the pieces of its ``snapshot``.

        Called before the first commit of a job that goes on elsewhere, maybe under another sink id.
        It replaces what is held back here. A second call with the same pieces changes nothing.

        Raises:
            CheckpointError: the sink holds nothing back, or does not know the form.
        """
        if any(True for _ in held):
            raise CheckpointError(
                "a sink is to go on with what another one held back, and holds nothing back itself",
                hint="use the sink that the savepoint was made with",
            )


class Sink(ABC):
    """A description of where records go. Subclasses are frozen dataclasses.

    **Exactly once by the driver** (``CommitBy.DRIVER``): writers write aside, and the committer
    publishes the micro-batch once.

    **Exactly once by task** (``CommitBy.TASK``), for systems whose transactions belong to a client:
    ``prepare_commit`` commits the records together with the marker ``(sink_id, partition,
    batch_id)``, in one transaction. A writer that finds its marker, or a later one of its
    partition, was run before: it drops its records. Such a sink may rely on this: a micro-batch
    that comes again has the same ``batch_id``, and each of its partitions the same records in the
    same order (as far as the program's functions give the same again). That holds after a restart
    too: a changed program that would bring them elsewhere is refused. The ``batch_id`` of a
    partition never goes back. It may not rely on which records lie in which
    partition in *different* micro-batches, nor on a partition being written to in each: one
    without records has no writer. Readers can see the partitions of a micro-batch one by one.
    A job without a keyed stage that reads a DataFrame has the partitions that Spark gives it. The
    plan of a batch is in no log: started again by a restart strategy, it is the same as long as
    its input is.

    **Older copies.** A checkpoint may be replaced by a copy of an earlier moment. Then the next
    micro-batches have numbers that the sink has already committed, and other records. The engine
    notices this by ``last_batch``, before anything is planned or written. The job is refused; or
    the user's configuration lets it go on, and all its sinks get another ``sink_id``.
    """

    @property
    def commits(self) -> CommitBy:
        """Who makes the writes visible."""
        return CommitBy.DRIVER

    @property
    def record_encoder(self) -> Callable[[Any], Any] | None:
        """Makes of a record what the writer gets; None: the writer gets the record itself.

        It is called once for each record, in the task that the record comes from. So bytes travel
        to the writer, and not an object that is taken apart and made again. It can be pickled.
        """
        return None

    @abstractmethod
    def writer(self, context: WriterContext) -> SinkWriter:
        """A new writer, for one task of one micro-batch."""

    @property
    def takes_columns(self) -> bool:
        """Whether its writers take columns (``SinkWriter.write_columns``), for less than records.

        A sink with a ``record_encoder`` gets none.
        """
        return False

    def committer(self, context: CommitterContext) -> Committer:
        """A new committer; a sink that commits by task has none.

        Raises:
            PlanError: the sink commits by the driver, and does not say how.
        """
        raise PlanError(
            f"the sink {self.name} has no committer",
            hint="write committer(), or let its commits be CommitBy.TASK",
        )

    def last_batch(self, context: CommitterContext) -> int | None:
        """The highest micro-batch that was committed under ``context.sink_id``; -1: none was.

        The highest of all partitions: some may not have written for long, and earlier runs may
        have had more of them. Called once beside the driver when a job goes on from a checkpoint;
        it changes nothing outside, and waits for a server that is away as a writer would.

        None, the default: the sink does not know. Then an older copy of the checkpoint is not
        noticed, and an exactly-once sink loses or doubles records after it.
        """
        return None

    @property
    def kind(self) -> str:
        """What the sink is, for checkpoints."""
        return type(self).__name__

    @property
    def locator(self) -> str:
        """What it writes to (a path, a topic); empty if that does not distinguish it."""
        return ""

    @property
    def exclusive_name(self) -> str:
        """A name in the system that it writes to, which no other sink may use; empty for none.

        A program with two sinks that have the same one is refused.
        """
        return ""

    @property
    def accepts(self) -> ChangelogMode | None:
        """Of which kinds the rows may be that it takes; None: of any.

        Inserts only by default. A program that declares that it gives this sink others is refused;
        rows of an undeclared kind, which a user's function may make, are given to it.
        """
        return ChangelogMode.insert_only()

    @property
    def keeps_state(self) -> bool:
        """True if it may hold records back, which a later program must not lose.

        Then its committer has ``snapshot`` and ``restore``.
        """
        return False

    @property
    def executed_by(self) -> ExecutedBy:
        """Who writes it."""
        return ExecutedBy.TASKS

    @property
    def name(self) -> str:
        """What the sink is called in plans and errors."""
        return type(self).__name__
