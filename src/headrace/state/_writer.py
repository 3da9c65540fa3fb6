"""``SavepointWriter``: a new savepoint, from tables and from the parts of another one."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.common._storage.locations import location_of
from headrace.common._storage.pickles import only_data
from headrace.common.typeinfo import TypeInformation
from headrace.connector import JsonValue
from headrace.datastream.state import MapStateDescriptor, StateDescriptor
from headrace.errors import ConfigurationError, UnsupportedError
from headrace.runners.clock import wall_clock_ms
from headrace.runners.spark.checkpoint.metadata import new_scope
from headrace.runtime.coordination.offset import Offset, SourceProgress, WorkLimits, source_key
from headrace.runtime.savepoint.folder import StoredSavepoint, check_is_free, write_manifest
from headrace.runtime.savepoint.manifest import Manifest, OperatorEntry, PartChecksum, StoredFile
from headrace.runtime.savepoint.savepoint import split_part_name
from headrace.runtime.state.kinds import VALUE, StateKind, type_data_of
from headrace.state._contents import (
    SavepointContents,
    contents_of,
    find_operator,
    reach,
    unknown_operator_error,
)
from headrace.state._copied_files import copy_file
from headrace.state._new_state import NewState, NewTimers
from headrace.state._savepoint import Savepoint

if TYPE_CHECKING:
    from headrace.runners.spark.state_tables import DataFrame

T = TypeVar("T")


@dataclass
class _Change:
    """The changes of an operator. ``gone``: the states that are left out."""

    states: dict[str, NewState] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    timers: NewTimers | None = None


class SavepointWriter:
    """Makes a new savepoint; the methods may be chained, and ``write`` writes it.

    A table has the columns that ``Savepoint.read`` returns: ``key`` and ``value``; ``item`` for a
    map; ``position`` for a list; ``namespace`` for state of windows; ``timestamp_ms`` if the state
    has a time-to-live. Instead of elements and items, ``value`` may be an array or a map for each
    key. ``key_group`` is computed.
    """

    def __init__(
        self,
        manifest: Manifest,
        before: StoredSavepoint | None = None,
        *,
        allow_pickles: bool = False,
    ) -> None:
        self._manifest, self._before = manifest, before
        self._only_data = not allow_pickles
        self._operators = {entry.id: entry for entry in manifest.operators}
        self._changes: dict[str, _Change] = {}
        self._removed: set[str] = set()

    @classmethod
    def new_savepoint(
        cls,
        max_parallelism: int = 128,
        job_name: str = "bootstrap",
        *,
        allow_pickles: bool = False,
    ) -> SavepointWriter:
        """Begin with an empty savepoint: sources are read from their beginnings.

        ``max_parallelism``: the number of key groups; the job may have another number.
        ``allow_pickles``: as in ``Savepoint.load``, for tables with pickles.
        """
        if max_parallelism < 1:
            raise ConfigurationError(
                f"max_parallelism is {max_parallelism}, and must be at least 1"
            )
        now_ms = wall_clock_ms()
        offset = Offset(0, now_ms, now_ms, WorkLimits(1, 1), {}).to_json()
        scope = new_scope()  # no sink has micro-batches under it
        manifest = Manifest(job_name, max_parallelism, 0, (), offset, {}, scope=scope)
        return cls(manifest, allow_pickles=allow_pickles)

    @classmethod
    def from_existing_savepoint(cls, url: str, *, allow_pickles: bool = False) -> SavepointWriter:
        """Begin with a copy of a savepoint: only what you change differs from it.

        ``allow_pickles``: as in ``Savepoint.load``.

        Raises:
            CheckpointError: there is none in the folder, or its manifest is damaged.
            UnsupportedError: it is a checkpoint or a restore point.
        """
        contents = contents_of(url)
        if not isinstance(contents, SavepointContents):
            raise UnsupportedError(
                "a checkpoint or a restore point cannot be changed",
                where={"checkpoint": contents.folder},
                hint="take a savepoint of the job: headrace savepoint JOB",
            )
        return cls(contents.stored.manifest, contents.stored, allow_pickles=allow_pickles)

    def with_state(
        self,
        uid: str,
        state: str | StateDescriptor,
        dataframe: DataFrame,
        *,
        key_type: TypeInformation | None = None,
        as_pickle: bool = False,
    ) -> SavepointWriter:
        """Set a state of an operator to a table; the operator may be new.

        Args:
            uid: the operator's uid.
            state: the name of a state of the savepoint, whose type stays; or the descriptor with
                which the program asks for the state.
            dataframe: the whole state: keys that are not in this table have no state.
            key_type: that of the keys. Not needed for keys that are numbers, texts or booleans.
            as_pickle: keys, namespaces, items and values are pickles (binary).

        Raises:
            ConfigurationError: the savepoint has no operator of this uid, or no state of this name.
        """
        entry = self._known(uid) if isinstance(state, str) else self._operator(uid)
        shared = namespaced = False
        if isinstance(state, str):
            name, found = state, entry.kinds().get(state)
            if found is None:
                raise ConfigurationError(
                    f"the operator {uid!r} has no state {name!r}",
                    hint="give the descriptor of a new state, such as"
                    f" ValueStateDescriptor({name!r}, Types.LONG());"
                    f" its states: {', '.join(entry.kinds()) or 'none'}",
                )
            kind, shared = found, name in entry.shared
            namespaced = name in entry.namespaced or name in entry.tables
        else:
            name, kind = state.name, _kind_of(state)
            for where in (entry.namespaced, entry.tables, entry.shared):
                if name in where:
                    raise ConfigurationError(
                        f"the state {name!r} of {uid!r} is not state of keys alone",
                        hint=f"give its name instead of a descriptor: {name!r}",
                    )
            entry = replace(entry, states={**entry.states, name: kind})
        # Pickles of a state that is there are of the classes as they were stored.
        keeps_fields = as_pickle and isinstance(state, str)
        fields = entry.fields if keeps_fields else _without(entry.fields, name)
        self._operators[entry.id] = replace(entry, fields=fields)
        new = NewState(name, kind, dataframe, key_type, as_pickle, shared, namespaced)
        self._change(entry.id).states[name] = new
        return self

    def with_broadcast_state(
        self,
        uid: str,
        descriptor: MapStateDescriptor,
        dataframe: DataFrame,
        *,
        as_pickle: bool = False,
    ) -> SavepointWriter:
        """Set a broadcast state of an operator to a table.

        The columns: ``key`` and ``value`` of the map, and ``position``, the order of its items; by
        default they are in the order of their serialized keys.
        """
        entry = self._operator(uid)
        name, kind = descriptor.name, _kind_of(descriptor)._replace(kind=VALUE, expires=False)
        self._operators[entry.id] = replace(
            entry, shared={**entry.shared, name: kind}, fields=_without(entry.fields, name)
        )
        new = NewState(name, kind, dataframe, None, as_pickle, shared=True)
        self._change(entry.id).states[name] = new
        return self

    def with_timers(
        self,
        uid: str,
        dataframe: DataFrame,
        *,
        key_type: TypeInformation | None = None,
        as_pickle: bool = False,
    ) -> SavepointWriter:
        """Replace all timers of an operator by those of a table.

        The columns: ``key``; ``clock`` (event or processing); ``time_ms``; ``namespace`` for timers
        of windows.
        """
        entry = self._operator(uid)
        self._change(entry.id).timers = NewTimers(dataframe, key_type, as_pickle)
        return self

    def with_source_positions(
        self, source: str, positions: Mapping[str, JsonValue]
    ) -> SavepointWriter:
        """Begin a source at positions, by split, as ``Savepoint.sources`` shows them.

        ``source``: its uid. It reads these splits, and those that it finds later.

        Raises:
            UnsupportedError: the savepoint has the positions of a job.
        """
        if self._before is not None:
            raise UnsupportedError(
                "the source positions of a job cannot be changed: its state belongs to them",
                hint="begin with SavepointWriter.new_savepoint(), and set the states",
            )
        offset = Offset.from_json(self._manifest.offset)
        progress = SourceProgress(dict(positions))
        sources = {**offset.sources, source_key(source): progress}
        self._manifest = replace(self._manifest, offset=replace(offset, sources=sources).to_json())
        return self

    def remove_state(self, uid: str, name: str) -> SavepointWriter:
        """Leave out a state.

        Raises:
            ConfigurationError: there is no such state.
        """
        entry = self._known(uid)
        if name not in entry.kinds():
            raise ConfigurationError(
                f"the operator {uid!r} has no state {name!r}",
                hint=f"its states: {', '.join(entry.kinds()) or 'none'}",
            )
        kept: dict[str, Any] = {
            where: _without(getattr(entry, where), name)
            for where in ("states", "namespaced", "tables", "shared", "fields")
        }
        self._operators[entry.id] = replace(entry, **kept)
        change = self._change(entry.id)
        change.states.pop(name, None)
        change.gone.add(name)
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave out an operator, with its states and timers.

        Raises:
            ConfigurationError: there is no such operator.
        """
        entry = self._known(uid)
        del self._operators[entry.id]
        self._removed.add(entry.id)
        self._changes.pop(entry.id, None)
        return self

    def write(self, url: str) -> Savepoint:
        """Write the savepoint to a folder, and return it.

        Raises:
            CheckpointError: there is a savepoint in the folder already, or a file of the first
                savepoint is damaged.
            ConfigurationError: a table lacks a column, or has two rows for one value.
            TypeMismatchError: a column or a value has another type than the state.
        """
        target = location_of(url)
        reach(target)
        check_is_free(target)
        files: dict[str, StoredFile] = {}
        parts: dict[str, PartChecksum] = {}
        written = {
            ("states", id_) for id_, change in self._changes.items() if change.states or change.gone
        }
        written |= {("timers", id_) for id_, change in self._changes.items() if change.timers}
        if self._before is not None:
            files, parts = self._copied(self._before, target, written)
        for table, id_ in sorted(written):
            with only_data(self._only_data):
                found = self._write(target, table, self._operators[id_], self._changes[id_])
            files |= found[0]
            parts |= found[1]
        manifest = replace(
            self._manifest,
            operators=tuple(self._operators.values()),
            parts=parts,
            files=files,
            created_ms=wall_clock_ms(),
        )
        write_manifest(manifest, target)
        return Savepoint.load(target, allow_pickles=not self._only_data)

    def _copied(
        self, before: StoredSavepoint, target: str, written: set[tuple[str, str]]
    ) -> tuple[dict[str, StoredFile], dict[str, PartChecksum]]:
        """Copy the parts that stay as they are."""

        def stays(table: str, operator: str | None) -> bool:
            if operator is None:
                return True
            return operator not in self._removed and (table, operator) not in written

        files = {
            path: file
            for path, file in before.manifest.files.items()
            if stays(file.table, file.operator)
        }
        for path, file in files.items():
            copy_file(posixpath.join(before.folder, path), posixpath.join(target, path), file)
        parts = {
            name: part
            for name, part in before.manifest.parts.items()
            if stays(*split_part_name(name)[:2])
        }
        return files, parts

    def _write(
        self, target: str, table: str, entry: OperatorEntry, change: _Change
    ) -> tuple[dict[str, StoredFile], dict[str, PartChecksum]]:
        """Write the states or the timers of an operator that has a change."""
        from headrace.runners.spark.state_tables import Records, first_record
        from headrace.runners.spark.state_writes import write_records

        states: Records | None = None
        if self._before is not None and entry.id not in self._removed:
            states = SavepointContents(self._before).records("states", entry.id)

        def first_of_keys() -> tuple[bytes, int] | None:
            return None if states is None else first_record(states, "key_group >= 0")

        if table == "timers":
            assert change.timers is not None, "an operator whose timers stay"
            timers = change.timers.table(entry, first_of_keys)
            found = write_records(target, table, entry.id, None, [timers], only=self._only_data)
        else:
            added = [state.table(entry, first_of_keys) for state in change.states.values()]
            kept = None if states is None else (states, {*change.states, *change.gone})
            found = write_records(
                target, table, entry.id, kept, added, change.states, self._only_data
            )
        return found.files, {name: PartChecksum(count) for name, count in found.counts.items()}

    def _operator(self, uid: str) -> OperatorEntry:
        """Return the entry of an operator; a new one if there is none."""
        found = find_operator(self._operators.values(), uid)
        if found is None:
            # It has no kind: an operator of any kind may take its state.
            found = OperatorEntry(uid, "", uid, uid, self._manifest.max_parallelism)
            self._operators[uid] = found
        return found

    def _known(self, uid: str) -> OperatorEntry:
        found = find_operator(self._operators.values(), uid)
        if found is None:
            raise unknown_operator_error(self._operators.values(), uid)
        return found

    def _change(self, operator: str) -> _Change:
        return self._changes.setdefault(operator, _Change())


def _kind_of(descriptor: Any) -> StateKind:
    expires, version = descriptor._ttl_config is not None, descriptor._evolution.version
    return StateKind(descriptor.kind, type_data_of(descriptor.type_info), expires, version)


def _without(by_state: Mapping[str, T], name: str) -> dict[str, T]:
    return {state: found for state, found in by_state.items() if state != name}
