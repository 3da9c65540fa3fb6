"""What a connector is: a source of splits, a sink of committed writes.

A ``Source`` or ``Sink`` is a frozen, picklable description. From it the engine builds

- an **enumerator** (one, beside the driver), which finds splits and decides how far each is
  read next; everything it decides is a JSON position, so a restart can ask again;
- **readers** (in the workers), which read one planned range and nothing else, so that a range
  read twice gives the same records in the same order;
- **writers** (in the workers) and one **committer** (beside the driver): two-phase commit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

JsonValue = Any
"""What ``json.dumps`` accepts; positions are compared by their JSON text."""


class DeliveryGuarantee(Enum):
    """What a sink promises after a failure."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


class ServedBy(Enum):
    """Who carries a source or a sink out."""

    TASKS = "tasks"
    """Its own enumerator and readers; its own writers and committer."""
    DRIVER = "driver"
    """The user's process: a sink whose records are printed or collected there."""
    SPARK = "spark"
    """Spark itself: a DataFrame is read, or written."""


@dataclass(frozen=True)
class Budget:
    """How much one micro-batch may take from one source; at least one record and byte."""

    max_records: int
    max_bytes: int


@dataclass(frozen=True)
class Progress:
    """How far a source shall be read by the end of the next micro-batch.

    ``positions`` maps every split that is not finished to its new position (JSON); ``finished``
    holds the splits that end within this micro-batch. A split once finished is not named again.
    ``ended`` says that no split is left and none will come.
    """

    positions: Mapping[str, JsonValue]
    finished: frozenset[str] = frozenset()
    ended: bool = False


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
    None). ``bad`` holds pairs (index into values before which it stood, the record).
    """

    values: list[Any]
    timestamps: list[int | None] | None = None
    bad: list[tuple[int, BadRecord]] = field(default_factory=list)


class SplitEnumerator(ABC):
    """Finds splits and plans ranges; lives beside the driver, for one source of one job.

    It may keep caches, but every answer must follow from the JSON it is given (and from what
    it wrote under its ``directory`` before it returned a position that refers to it).
    """

    @abstractmethod
    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """The splits known at the start, each with its first position."""

    @abstractmethod
    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Decide the positions at the end of the next micro-batch.

        Splits in ``paused`` (watermark alignment) keep their position. New splits appear as new
        keys. Where nothing is new the same positions come back, equal as JSON.
        """

    @abstractmethod
    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """The work between two positions; a pure function of its arguments.

        ``finished`` splits are read to their end; those missing in ``start`` from their beginning.
        """

    def committed(self, positions: Mapping[str, JsonValue]) -> None:
        """All records before ``positions`` are in the sinks for good; a broker may be told."""

    def close(self) -> None:
        """Release what the enumerator holds."""


class SplitReader(ABC):
    """Reads ranges inside a worker; opened once per worker process and job run."""

    @abstractmethod
    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """The records of one range, in order; the same for the same range, always."""

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
    def fingerprint(self) -> str | None:
        """What the source holds, as a short text that is equal in every interpreter, or None.

        Where it differs from what a checkpoint was made with, the job is refused. For input that
        must stay as it is; None, the default, for input that may change.
        """
        return None

    @property
    def served_by(self) -> ServedBy:
        """Who reads it."""
        return ServedBy.TASKS

    @property
    def reports_bad_records(self) -> bool:
        """True when undecodable input goes to a tag (see ``bad_record_tag``) instead of failing."""
        return self.bad_record_tag is not None

    @property
    def bad_record_tag(self) -> Any | None:
        """The ``OutputTag`` that receives ``BadRecord`` values, or None: the job fails."""
        return None


@dataclass(frozen=True)
class WriterContext:
    """Where a writer runs. ``batch_id`` counts committed micro-batches, ``partition`` the tasks.

    ``attempt`` differs for every run of the same task, so files of a dead attempt are told apart.
    """

    sink_id: str
    job_name: str
    batch_id: int
    partition: int
    attempt: str


@dataclass(frozen=True)
class CommitterContext:
    """Where a committer runs: the sink's id and the job's name."""

    sink_id: str
    job_name: str


class SinkWriter(ABC):
    """Writes one task's records of one micro-batch; nothing is visible before the commit."""

    @abstractmethod
    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        """Take records, in order."""

    @abstractmethod
    def prepare_commit(self) -> Any | None:
        """Flush; give back what the committer needs (picklable), or None for nothing written."""

    def abort(self) -> None:
        """The task failed: remove what was written."""


class Committer(ABC):
    """Makes a micro-batch's writes visible, beside the driver."""

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


class Sink(ABC):
    """A description of where records go. Subclasses are frozen dataclasses."""

    @abstractmethod
    def writer(self, context: WriterContext) -> SinkWriter:
        """A new writer, for one task of one micro-batch."""

    @abstractmethod
    def committer(self, context: CommitterContext) -> Committer:
        """A new committer."""

    @property
    def served_by(self) -> ServedBy:
        """Who writes it."""
        return ServedBy.TASKS

    @property
    def name(self) -> str:
        """What the sink is called in plans and errors."""
        return type(self).__name__
