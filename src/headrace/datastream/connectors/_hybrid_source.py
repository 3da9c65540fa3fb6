"""One source after another: files first, for example, then Kafka without an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.connector import (
    Budget,
    Chunk,
    ColumnChunk,
    ExecutedBy,
    JsonValue,
    Pending,
    Progress,
    Source,
    SplitEnumerator,
    SplitMetrics,
    SplitRange,
    SplitReader,
)
from headrace.errors import PlanError


@dataclass(frozen=True)
class HybridSource(Source):
    """Reads several sources one after the other; all but the last must be bounded.

    A split is named ``<index of the source>:<name in that source>``. A source begins in the
    micro-batch in which the one before it ends. Its splits are known before the others end, so
    event time does not end between the two.
    """

    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        if not self.sources:
            raise PlanError("a hybrid source needs sources", hint="HybridSource.builder(first)")
        for source in self.sources:
            if not isinstance(source, Source) or source.executed_by is not ExecutedBy.TASKS:
                raise PlanError(
                    f"{source!r:.100} cannot be a part of a hybrid source",
                    hint="use sources that tasks read: FileSource, KafkaSource",
                )
        for source in self.sources[:-1]:
            if not source.bounded:
                raise PlanError(
                    f"{source.name} has no end, so no source can come after it",
                    hint="only the last source may have no end; set_bounded(…) ends a KafkaSource",
                )
        if any(source.bad_record_tag != self.bad_record_tag for source in self.sources):
            raise PlanError(
                "the sources of a hybrid source send bad records to different tags",
                hint="give all of them the same on_error(tag), or none",
            )

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Return a builder that begins with this source."""
        return HybridSourceBuilder((first_source,))

    @property
    def gives(self) -> ChangelogMode | None:
        """The union of the row kinds of all sources."""
        return union(source.gives for source in self.sources)

    @property
    def kind(self) -> str:
        """``hybrid(kafka, files)``, say: the kinds of all sources, in order."""
        return f"hybrid({', '.join(source.kind for source in self.sources)})"

    @property
    def locator(self) -> str:
        """The locators of all sources."""
        return ", ".join(source.locator for source in self.sources)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprints of all sources; None if no source has one."""
        found = [source.fingerprint for source in self.sources]
        return "/".join(each or "" for each in found) if any(found) else None

    @property
    def bounded(self) -> bool:
        """True if the last source is bounded."""
        return self.sources[-1].bounded

    @property
    def stops_at(self) -> str:
        """Where the last source stops."""
        return self.sources[-1].stops_at

    def stops(self, split: str) -> bool:
        """Return True for splits of the last source; those of earlier sources end by themselves."""
        return _source_index_of(split) == len(self.sources) - 1

    @property
    def record_type(self) -> Any | None:
        """The record type of the sources; None if they differ."""
        first = self.sources[0].record_type
        return first if all(source.record_type == first for source in self.sources) else None

    @property
    def bad_record_tag(self) -> Any | None:
        """The tag for records that cannot be decoded, which all sources share."""
        return self.sources[0].bad_record_tag

    def split_metrics(
        self, splits: Mapping[str, tuple[JsonValue, int | None]]
    ) -> Sequence[SplitMetrics]:
        """Return the metrics of each source's splits."""
        by_source: dict[int, dict[str, tuple[JsonValue, int | None]]] = {}
        for split, status in splits.items():
            by_source.setdefault(_source_index_of(split), {})[_inner_name(split)] = status
        return [
            metrics
            for index, own in by_source.items()
            for metrics in self.sources[index].split_metrics(own)
        ]

    def absolute(self) -> HybridSource:
        """Return a copy with absolute paths, because tasks may have another working directory."""
        return replace(
            self,
            sources=tuple(
                source.absolute() if hasattr(source, "absolute") else source
                for source in self.sources
            ),
        )

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return an enumerator; each source has a separate folder below ``directory``."""

        def make_enumerator(source_index: int) -> SplitEnumerator:
            return self.sources[source_index].enumerator(f"{directory}/{source_index}")

        return HybridEnumerator(make_enumerator, [source.bounded for source in self.sources])

    def reader(self) -> SplitReader:
        """Return a reader for the splits of all sources."""
        return HybridReader([source.reader() for source in self.sources])


class HybridSourceBuilder:
    """Builds a ``HybridSource``."""

    def __init__(self, sources: tuple[Source, ...]) -> None:
        self._sources = sources

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Add a source, which is read after the sources that were added before."""
        self._sources += (source,)
        return self

    def build(self) -> HybridSource:
        """Return the source.

        Raises:
            PlanError: a source before the last is unbounded, or the sources do not fit together.
        """
        return HybridSource(self._sources)


@dataclass
class HybridEnumerator(SplitEnumerator):
    """Delegates to the enumerator of the current source. ``bounded``: of each source."""

    make_enumerator: Callable[[int], SplitEnumerator]
    bounded: Sequence[bool]
    _enumerators: dict[int, SplitEnumerator] = field(default_factory=dict)

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return the splits of the first source that has any."""
        for source_index in range(len(self.bounded)):
            found = self._delegate(source_index).initial(now_ms)
            if found:
                return _add_source_index(source_index, found)
        return {}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Return the plan of the current source.

        When it ends, the next one's first positions follow.
        """
        source_index = self._current_source_index(positions)
        own = frozenset(
            _inner_name(split) for split in paused if _source_index_of(split) == source_index
        )
        found = self._delegate(source_index).advance(
            _inner_positions(source_index, positions), budget, now_ms, own
        )
        ends = found.finished
        finished = ends if isinstance(ends, Mapping) else dict.fromkeys(ends)
        progress = Progress(
            _add_source_index(source_index, found.positions),
            _add_source_index(source_index, finished),
            found.ended,
            _add_source_index(source_index, found.started),
        )
        return self._switch_source(source_index, progress, now_ms) if found.ended else progress

    def _switch_source(self, source_index: int, progress: Progress, now_ms: int) -> Progress:
        """Return the end of a source, and the beginning of the next one that has splits."""
        for following in range(source_index + 1, len(self.bounded)):
            begins = _add_source_index(following, self._delegate(following).initial(now_ms))
            if begins:
                started = {**progress.started, **begins}
                return Progress(begins, progress.finished, False, started)
        # An unbounded source may have splits later, so it becomes the current one.
        return replace(progress, ended=self.bounded[-1] or source_index == len(self.bounded) - 1)

    def _current_source_index(self, positions: Mapping[str, JsonValue]) -> int:
        return max(map(_source_index_of, positions), default=len(self.bounded) - 1)

    def resume(self, positions: Mapping[str, JsonValue], now_ms: int) -> Mapping[str, JsonValue]:
        """Return the positions, with new stops for the last source."""
        last = len(self.bounded) - 1
        own = _inner_positions(last, positions)
        begun = own or not positions  # no positions: the last source stopped without splits
        after = _add_source_index(last, self._delegate(last).resume(own, now_ms)) if begun else {}
        return {**positions, **after}

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return the ranges of each source, in the order of the sources."""
        work: list[SplitRange] = []
        for source_index in sorted(
            {_source_index_of(split) for split in (*start, *end, *finished)}
        ):
            own = frozenset(
                _inner_name(split) for split in finished if _source_index_of(split) == source_index
            )
            found = self._delegate(source_index).ranges(
                _inner_positions(source_index, start), _inner_positions(source_index, end), own
            )
            work += [replace(each, split=_full_name(source_index, each.split)) for each in found]
        return work

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """Return the remaining input of the last source; unknown before it is read."""
        source_index = self._current_source_index(positions)
        if source_index < len(self.bounded) - 1:
            return Pending()
        return self._delegate(source_index).pending(_inner_positions(source_index, positions))

    def committed(self, positions: Mapping[str, JsonValue]) -> None:
        """Notify the sources that own the splits."""
        for source_index in {_source_index_of(split) for split in positions}:
            self._delegate(source_index).committed(_inner_positions(source_index, positions))

    def close(self) -> None:
        """Close the enumerators that were made."""
        for enumerator in self._enumerators.values():
            enumerator.close()

    def _delegate(self, source_index: int) -> SplitEnumerator:
        if source_index not in self._enumerators:
            self._enumerators[source_index] = self.make_enumerator(source_index)
        return self._enumerators[source_index]


@dataclass
class HybridReader(SplitReader):
    """Reads each range with the reader of its source."""

    readers: Sequence[SplitReader]

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """Return the records of one range, in order."""
        return self._delegate(split_range).read(_inner_range(split_range))

    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk] | None:
        """Return the records as columns, if the source supports it."""
        return self._delegate(split_range).read_columns(_inner_range(split_range))

    @property
    def has_columns(self) -> bool:
        """Whether one of the sources supports columns."""
        return any(reader.has_columns for reader in self.readers)

    def close(self) -> None:
        """Close all readers."""
        for reader in self.readers:
            reader.close()

    def _delegate(self, split_range: SplitRange) -> SplitReader:
        return self.readers[_source_index_of(split_range.split)]


def _full_name(source_index: int, split: str) -> str:
    return f"{source_index}:{split}"


def _source_index_of(split: str) -> int:
    return int(split.partition(":")[0])


def _inner_name(split: str) -> str:
    return split.partition(":")[2]


def _add_source_index(
    source_index: int, positions: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    return {_full_name(source_index, split): at for split, at in positions.items()}


def _inner_positions(source_index: int, positions: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        _inner_name(split): at
        for split, at in positions.items()
        if _source_index_of(split) == source_index
    }


def _inner_range(split_range: SplitRange) -> SplitRange:
    return replace(split_range, split=_inner_name(split_range.split))
