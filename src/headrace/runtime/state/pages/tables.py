"""A table of entries for each namespace that many keys share, each in pages of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.runtime.state.backend import NamespaceTables
from headrace.runtime.state.fields import SeenFields
from headrace.runtime.state.kinds import NO_EVOLUTION, Evolution, StateKind
from headrace.runtime.state.pages.schemas import NO_SCHEMAS, Schemas
from headrace.runtime.state.pages.space import NO_PAGES, PagedEntries, SpaceState

TablesState = tuple[str, tuple[tuple[Any, int, SpaceState], ...]]
"""For the header: the schemas of all tables, and each one's namespace, id and pages."""


class PagedTables(NamespaceTables):
    """Tables under the prefixes ``w<id>.``; an empty one leaves nothing behind.

    ``open_header`` reads the header at the first use, and calls ``set_stored`` if it knows tables.
    """

    def __init__(
        self,
        open_header: Callable[[], None],
        make_space: Callable[[str], PagedEntries],
        new_id: Callable[[], int],
    ) -> None:
        self._open_header = open_header
        self._make_space = make_space
        self._new_id = new_id
        self._declared: dict[str, StateKind] = {}
        self._schemas = NO_SCHEMAS
        self._evolutions: dict[str, Evolution] = {}
        self._noted: dict[str, SeenFields] = {}
        self._has_evolved = False
        self._stored: dict[Any, tuple[int, SpaceState]] = {}
        self._open: dict[Any, tuple[int, PagedEntries]] = {}

    def set_stored(self, state: TablesState) -> None:
        """Set the stored state from the header, and check the declared kinds against it."""
        self._schemas, tables = state
        self._stored = {namespace: (id_, space) for namespace, id_, space in tables}
        if self._declared:
            self._make_template()

    def declare(self, slot: str, kind: StateKind, evolution: Evolution = NO_EVOLUTION) -> None:
        """Declare the kind of the only slot of all tables."""
        self._declared[slot] = kind
        self._evolutions[slot] = evolution
        self._open_header()
        self._make_template()
        for _, space in self._open.values():
            space.declare(slot, kind, evolution)

    def note_fields(self, slot: str, seen: SeenFields) -> None:
        """Keep the fields of dataclasses in a slot, as they are in values that are put now."""
        self._noted[slot] = seen

    def evolve(self) -> bool:
        """Convert stored values to what is declared; return whether there were any.

        Those of all tables are converted at once: they share their schemas.
        """
        if self._has_evolved or not self._declared:
            return False
        self._has_evolved = True
        self._open_header()
        if not self._stored or not self._make_template().must_evolve:
            return False
        for namespace in self.namespaces():
            space = self.table(namespace)
            space.evolve()
            schemas = space.schemas
        self._schemas = schemas
        return True

    def fields(self) -> Mapping[str, SeenFields]:
        """Return the fields that the dataclasses of values had, by slot."""
        self._open_header()
        return self._make_template().fields()

    def kinds(self) -> Mapping[str, StateKind]:
        """Return the kind of the slot that was declared, or is stored."""
        self._open_header()
        return self._make_template().kinds()

    def namespaces(self) -> list[Any]:
        """Return the namespaces that have a table."""
        self._open_header()
        return [*self._stored, *(one for one in self._open if one not in self._stored)]

    def has(self, namespace: Any) -> bool:
        """Return whether a namespace has a table."""
        self._open_header()
        return namespace in self._open or namespace in self._stored

    def table(self, namespace: Any) -> PagedEntries:
        """Return the entries of a namespace."""
        self.evolve()  # which opens the tables that it converts
        found = self._open.get(namespace)
        if found is None:
            self._open_header()
            id_, state = self._stored.get(namespace) or (self._new_id(), NO_PAGES)
            found = self._open[namespace] = id_, self._open_space(f"w{id_}.", state)
        return found[1]

    def drop(self, namespace: Any) -> None:
        """Remove a table with its pages."""
        self.table(namespace).remove_all()
        del self._open[namespace]
        self._stored.pop(namespace, None)

    def stored_states(self) -> list[SpaceState]:
        """Return the stored state of each table."""
        return [state for _, state in self._stored.values()]

    def flush(self) -> TablesState | None:
        """Write all changes; return the state of the tables, for the header."""
        for namespace, (id_, space) in self._open.items():
            state, schemas = space.flush()
            if state == NO_PAGES:
                self._stored.pop(namespace, None)
            else:
                self._stored[namespace] = id_, state
                known = Schemas()
                known.set_stored(schemas)
                known.merge(self._schemas)
                self._schemas = known.text
        self._open.clear()
        if not self._stored:
            self._schemas = NO_SCHEMAS
            return None
        tables = ((namespace, *known) for namespace, known in self._stored.items())
        return self._schemas, tuple(tables)

    def _make_template(self) -> PagedEntries:
        """Return a space of the declared and the stored kinds, which must go together."""
        return self._open_space("w.", NO_PAGES)

    def _open_space(self, prefix: str, state: SpaceState) -> PagedEntries:
        space = self._make_space(prefix)
        for slot, kind in self._declared.items():
            space.declare(slot, kind, self._evolutions[slot])
        space.set_stored(state, self._schemas)
        for slot, seen in self._noted.items():
            space.note_fields(slot, seen)
        return space
