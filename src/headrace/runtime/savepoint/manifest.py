"""The manifest of a savepoint: whose state it is, and what it must contain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar
from zlib import crc32

from headrace.errors import CheckpointError
from headrace.runtime.layout import pattern_of
from headrace.runtime.savepoint.read import StoredStates
from headrace.runtime.savepoint.records import PICKLE
from headrace.runtime.state.fields import SeenFields
from headrace.runtime.state.kinds import StateKind

FORMAT = 4
_READ_FORMATS = (2, 3, FORMAT)
"""Format 2 has no files, and no scope; format 3 has no fields."""

_MASK = (1 << 64) - 1

R = TypeVar("R", bound=tuple[Any, ...])


@dataclass(frozen=True)
class OperatorEntry:
    """An operator, and the kinds of its states by name.

    ``namespaced``: states per key and namespace. ``tables``: states in tables of namespaces.
    ``shared``: broadcast states. Declared types are data, as in ``StateKind``. ``fields``: the
    fields that dataclasses of values had, by state. ``removes_after_ms``: how long records of each
    side are kept; ``pattern``: the stages of a pattern (see ``OperatorSpec``). ``description``:
    what the operator does, if its name does not say it.
    """

    id: str
    kind: str
    name: str
    uid: str | None
    key_groups: int
    states: Mapping[str, StateKind] = field(default_factory=dict)
    namespaced: Mapping[str, StateKind] = field(default_factory=dict)
    tables: Mapping[str, StateKind] = field(default_factory=dict)
    shared: Mapping[str, StateKind] = field(default_factory=dict)
    fields: Mapping[str, SeenFields] = field(default_factory=dict)
    removes_after_ms: tuple[int | None, ...] = ()
    pattern: tuple[tuple[str, str], ...] = ()
    description: str = ""

    @property
    def keyed_states(self) -> StoredStates:
        """The states by key group."""
        return StoredStates(self.states, self.namespaced, self.tables, self.fields)

    @property
    def shared_states(self) -> StoredStates:
        """The broadcast states."""
        return StoredStates(self.shared, fields=self.fields)

    def kinds(self) -> dict[str, StateKind]:
        """Return the kinds of all its states, by name."""
        return {**self.states, **self.namespaced, **self.tables, **self.shared}


@dataclass(frozen=True)
class PartChecksum:
    """The number of records in a part, and the sum of their checksums, in any order.

    ``checksum``: None if the part is in files, which have their own.
    """

    count: int
    checksum: int | None = None


@dataclass(frozen=True)
class StoredFile:
    """A file of records, below the folder of a savepoint.

    ``operator``: whose records it has; None if its table is not divided by operators.
    """

    table: str
    operator: str | None
    rows: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The content of a savepoint.

    ``batch_id``: the job's number of its next micro-batch. ``offset``: the source positions, as
    JSON of the coordinator. ``parts``: by table name; or by ``table/operator/key group``, if a
    table is written in parts. ``scope``: the part of the sinks' ids with which the job wrote.
    ``files``: by path below the savepoint's folder, if it is stored in one.
    """

    job: str
    max_parallelism: int
    batch_id: int
    operators: tuple[OperatorEntry, ...]
    offset: Mapping[str, Any]
    parts: Mapping[str, PartChecksum]
    key_encoding: str = PICKLE
    scope: str = ""
    created_ms: int = 0
    files: Mapping[str, StoredFile] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """The size of the files; 0 if the savepoint is not stored in a folder."""
        return sum(file.size_bytes for file in self.files.values())

    def operator(self, id_: str) -> OperatorEntry | None:
        """Return the operator of an id, if it is there."""
        return next((operator for operator in self.operators if operator.id == id_), None)

    def to_json(self) -> str:
        """Return the manifest as text, with a checksum."""
        plain = {"format": FORMAT, **asdict(self)}
        return json.dumps({**plain, "checksum": _sum_of(plain)}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Return the manifest from text.

        Raises:
            CheckpointError: the text is not a manifest, or of another format.
        """
        try:
            found = json.loads(text)
            wanted = found.pop("checksum", None)
            actual = _sum_of(found)
            format_ = found.pop("format")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise _unreadable_error(error) from error
        if format_ not in _READ_FORMATS:
            raise CheckpointError(
                f"the savepoint has format {format_}, this version reads {FORMAT}",
                hint="read it with the version that wrote it, or a later one",
            )
        if actual != wanted:
            raise _unreadable_error(ValueError("its checksum is wrong"))
        try:
            found["operators"] = tuple(_parse_operator(entry) for entry in found["operators"])
            found["parts"] = {name: PartChecksum(**part) for name, part in found["parts"].items()}
            files = found.get("files", {})
            found["files"] = {path: StoredFile(**file) for path, file in files.items()}
            return cls(**found)
        except (KeyError, AttributeError, TypeError) as error:
            raise _unreadable_error(error) from error


def _sum_of(plain: Any) -> int:
    return crc32(json.dumps(plain, sort_keys=True).encode())


def _parse_operator(entry: Mapping[str, Any]) -> OperatorEntry:
    kinds = {
        field: {name: StateKind(*kind) for name, kind in entry.get(field, {}).items()}
        for field in ("states", "namespaced", "tables", "shared")
    }
    kept = (*entry.get("removes_after_ms", ()),)
    return OperatorEntry(
        **{**entry, **kinds, "removes_after_ms": kept, "pattern": pattern_of(entry)}
    )


def _unreadable_error(error: Exception) -> CheckpointError:
    return CheckpointError(
        f"the manifest of the savepoint cannot be read: {type(error).__name__}: {error}",
        hint="the file is damaged; restore from another savepoint",
    )


class ChecksumCounter:
    """Counts records, and computes their checksum."""

    def __init__(self, with_checksum: bool = True) -> None:
        self.count = 0
        self._checksum = 0
        self._with_checksum = with_checksum

    def count_records(self, records: Iterable[R]) -> Iterator[R]:
        """Yield the same records, and count them."""
        for record in records:
            self.count += 1
            if self._with_checksum:
                self._checksum += record_checksum(record)
            yield record

    @property
    def part_checksum(self) -> PartChecksum:
        """The checksum of all records so far."""
        return PartChecksum(self.count, self._checksum & _MASK if self._with_checksum else None)


def record_checksum(record: tuple[Any, ...]) -> int:
    """Return a checksum of one record; equal values in other columns give other checksums."""
    found = 0
    for value in record:
        data = value if isinstance(value, bytes) else repr(value).encode()
        found = crc32(data, crc32(b"%d" % len(data), found))
    return found


def verify_records(records: Iterable[R], part: PartChecksum, name: str) -> Iterator[R]:
    """Yield ``records`` unchanged; at the end, check their number and checksum with the manifest.

    Raises:
        CheckpointError: records are missing, changed, or too many.
    """
    counter = ChecksumCounter(with_checksum=part.checksum is not None)
    yield from counter.count_records(records)
    if counter.part_checksum != part:
        raise CheckpointError(
            f"part {name!r} of the savepoint has {counter.count} records, not the {part.count}"
            " that were written"
            if counter.count != part.count
            else f"the checksum of part {name!r} of the savepoint is wrong",
            hint="the file is damaged; restore from another savepoint",
        )
