"""Queries of keyed state: which operators answer, what they read, and how much time it may take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from headrace.common._options.catalogue import QUERY_SHARE, QUERYABLE_STATE
from headrace.common.typeinfo import RowTypeInfo
from headrace.common.types import Row
from headrace.errors import ConfigurationError, QueryBudgetError, StateQueryError, UnsupportedError
from headrace.runtime.keys.serialized_key import to_internal_key
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.kinds import LIST, MAP, VALUE
from headrace.runtime.state.pages.bucketed_map import BucketedMap
from headrace.runtime.state.pages.chunked_list import ChunkedList

ReadState = Callable[[Any], Any]
"""Returns a copy of a key's state; None if it has none, or nothing in it."""

MAX_KEYS = 1000
"""The maximum number of keys of a query: the job's next report waits until it is answered."""


def queryable_vertices(program: JobProgram) -> dict[str, VertexProgram]:
    """Return the operators whose state may be queried, by the uid or id that the job was given.

    Raises:
        ConfigurationError: an operator is unknown, or has no state by key.
    """
    known = {
        name: vertex
        for stage in program.stages
        for vertex in stage
        if vertex.keyed
        for name in (vertex.chain.nodes[vertex.chain.root].uid, vertex.id)
        if name
    }
    wanted = program.settings.queryable
    unknown = [uid for uid in wanted if uid not in known]
    if unknown:
        raise ConfigurationError(
            f"no operator with keyed state has the uid {unknown[0]!r}",
            where={QUERYABLE_STATE.key: ", ".join(wanted)},
            hint=f"there are: {', '.join(known) or 'none'}",
        )
    return {uid: known[uid] for uid in wanted}


def queryable_vertex(vertices: dict[str, VertexProgram], uid: str) -> VertexProgram:
    """Return the operator with a uid.

    Raises:
        ConfigurationError: ``headrace.state.queryable`` does not name it.
    """
    found = vertices.get(uid)
    if found is None:
        raise ConfigurationError(
            f"the state of {uid!r} cannot be queried",
            hint=f"add its uid to {QUERYABLE_STATE.key} when the job is started; queryable are:"
            f" {', '.join(vertices) or 'none'}",
        )
    return found


def internal_keys(keys: Sequence[Any]) -> list[Any]:
    """Return keys as state has them.

    Raises:
        StateQueryError: there are too many.
        UnstableKeyError: one of them cannot be a key.
    """
    if len(keys) > MAX_KEYS:
        raise StateQueryError(
            f"a query has {len(keys):,} keys; it may have {MAX_KEYS:,}",
            hint="ask several times: each answer has the number of its micro-batch",
        )
    return [*map(to_internal_key, keys)]


def keys_from_json(program: JobProgram, vertex: VertexProgram, keys: Sequence[Any]) -> list[Any]:
    """Return keys that came as JSON: an array is a row if rows are declared, else a tuple."""
    exchanges = program.exchanges_to(vertex)
    types = [
        each.key_type
        for chain in program.chains
        for each in chain.exchanges
        if each.id in exchanges and each.key_type is not None
    ]
    is_row = bool(types) and isinstance(types[0], RowTypeInfo)
    return [(Row(*key) if is_row else tuple(key)) if isinstance(key, list) else key for key in keys]


def state_reader(backend: StateBackend, name: str) -> ReadState | None:
    """Return the function that reads a state of a backend; None if it has none of this name.

    Raises:
        UnsupportedError: it is state of windows, or an operator's own buffer.
    """
    kind = backend.kinds().get(name)
    if kind is None:
        if name in backend.in_namespaces.kinds() or name in backend.tables.kinds():
            raise _not_by_key_error(name)
        return None
    if kind.layout not in _PLAIN:
        raise _not_by_key_error(name)
    plain, peek, expires = _PLAIN[kind.layout], backend.peek, kind.expires

    def read(key: Any) -> Any:
        entry = peek(key)
        return copy_record(plain(entry[name], expires)) if name in entry else None

    return read


def _not_by_key_error(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"the state {name!r} is not by key alone, so it cannot be queried",
        hint="state of windows can be read from a savepoint (headrace.state)",
    )


def _plain_value(stored: Any, expires: bool) -> Any:
    return stored[0] if expires else stored


def _plain_list(stored: Any, expires: bool) -> Any:
    elements = stored.scan() if isinstance(stored, ChunkedList) else stored
    return [each[0] if expires else each for each in elements] or None


def _plain_map(stored: Any, expires: bool) -> Any:
    items = stored.scan() if isinstance(stored, BucketedMap) else stored.items()
    return {key: value[0] if expires else value for key, value in items} or None


_PLAIN: dict[str, Callable[[Any, bool], Any]] = {
    VALUE: _plain_value,
    LIST: _plain_list,
    MAP: _plain_map,
}
"""By layout, what a state is without what only the engine needs."""


def unknown_state_error(uid: str, name: str, known: Collection[str]) -> ConfigurationError:
    """Return the error for a name that no state of an operator has."""
    return ConfigurationError(
        f"the operator {uid!r} has no state {name!r}",
        hint=f"its states: {', '.join(sorted(known)) or 'none yet'}",
    )


class QueryBudget:
    """Limits the processor time of queries to a share of a core; unused time lasts one second."""

    def __init__(self, share: float, now: Callable[[], float]) -> None:
        self._share, self._now = share, now
        self._left, self._at = share, now()

    def check(self) -> None:
        """Refuse a query if earlier ones have used up the time.

        Raises:
            QueryBudgetError: they have.
        """
        now = self._now()
        self._left = min(self._left + (now - self._at) * self._share, self._share)
        self._at = now
        if self._left <= 0:
            raise QueryBudgetError(
                f"all queries together may not use more than {self._share:g} of a core",
                hint=f"ask less often, or for fewer keys; or set {QUERY_SHARE.key} when the job is"
                " started",
            )

    def spend(self, seconds: float) -> None:
        """Count processor time that a query has taken."""
        self._left -= seconds
