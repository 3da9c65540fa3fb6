"""What the pages of a space were written under: schemas, by a page's number, and classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.state.fields import SeenFields, fields_of
from headrace.runtime.state.kinds import StateKind

Schema = tuple[tuple[str, StateKind], ...]
"""The declared states as pairs (name, kind), in the order of their names."""

NO_SCHEMAS = "[]"
"""The schemas of no pages, as JSON. Those of pages are a pair: a list of schemas, each of
``[name, [kind, type, expires, version]]``, and ``SeenFields`` by state. The type is an object
(``common/_types/data.py``) or null. It is a text: an equal header is then equal to the byte, and
not written again."""


def schema_of(kinds: Mapping[str, StateKind]) -> Schema:
    """Return the schema of entries whose states were declared so."""
    return tuple((name, kinds[name]) for name in sorted(kinds))


class Schemas:
    """The schemas of stored pages, numbered in the order of their first use.

    Pages of several schemas can exist together: each contains the number of its own. While there is
    a page, numbers keep their meaning, and the fields of dataclasses in state are kept.
    """

    def __init__(self) -> None:
        self._known: list[Schema] = []
        self._seen: dict[str, dict[str, list[str]]] = {}
        self.text = NO_SCHEMAS

    def set_stored(self, text: str) -> None:
        """Set the schemas from the header."""
        self.text = text
        known, seen = _parse_schemas(text)
        self._known, self._seen = [*known], {state: {**fields} for state, fields in seen.items()}

    def clear(self) -> None:
        """Forget all: no page is left."""
        self._known, self._seen, self.text = [], {}, NO_SCHEMAS

    def number_of(self, schema: Schema) -> int:
        """Return the number of a schema; a new one gets the next."""
        known = self._known
        for number in range(len(known) - 1, -1, -1):
            if known[number] == schema:
                return number
        self.add(schema)
        return len(known) - 1

    def add(self, schema: Schema) -> None:
        """Add a schema, though it may be known: values of older pages are not of this one."""
        self._known.append(schema)
        self._write()

    def set_fields(self, state: str, seen: SeenFields) -> None:
        """Set the fields of dataclasses in a state, as all of its values were converted."""
        self._seen[state] = {name: [*fields] for name, fields in seen.items()}
        self._write()

    def note_class(self, state: str, kind: type) -> None:
        """Keep the fields of a dataclass of which a state has an object."""
        found = fields_of(kind)
        if found is not None:
            name, fields = found
            self._record_fields(state, name, fields)

    def _record_fields(self, state: str, name: str, fields: list[str]) -> None:
        seen = self._seen.setdefault(state, {})
        before = seen.get(name)
        # Objects that were written before a field came are still there.
        seen[name] = [field for field in before or fields if field in fields]
        if seen[name] != before:
            self._write()

    def merge(self, text: str) -> None:
        """Merge other ``Schemas`` that started from the same header."""
        if text in (self.text, NO_SCHEMAS):
            return
        other = Schemas()
        other.set_stored(text)
        self._known = max(self._known, other._known, key=len)
        for state, seen in other._seen.items():
            for name, fields in seen.items():
                self._record_fields(state, name, fields)
        self._write()

    def stored_fields(self) -> Mapping[str, SeenFields]:
        """Return the fields that the dataclasses of values had, by state."""
        return self._seen

    def _write(self) -> None:
        self.text = json.dumps([self._known, self._seen])

    def schema(self, number: Any, owner: str | None) -> Schema:
        """Return the schema of a number that was read from a page.

        Raises:
            CheckpointError: the header knows no such schema.
        """
        if type(number) is int and 0 <= number < len(self._known):
            return self._known[number]
        raise CheckpointError(
            "a page of keyed state was written under a schema that its header does not have",
            where={"operator": str(owner), "schema": repr(number), "known": str(len(self._known))},
            hint="the checkpoint is damaged: restore a copy, or start anew with"
            " headrace run --fresh",
        )

    def kinds(self) -> dict[str, StateKind]:
        """Return the kind of each state that pages may hold, as it was declared last."""
        return {name: kind for schema in self._known for name, kind in schema}


@lru_cache(maxsize=256)
def _parse_schemas(text: str) -> tuple[list[Schema], dict[str, dict[str, list[str]]]]:
    """Parse the stored schemas; cached, as all key groups of an operator have the same text."""
    known, seen = json.loads(text)
    return [tuple((name, StateKind(*kind)) for name, kind in schema) for schema in known], seen
