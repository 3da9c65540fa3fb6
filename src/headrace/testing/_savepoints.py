"""Encoding and decoding of a savepoint, for tests."""

from __future__ import annotations

from headrace.runtime.savepoint.manifest import Manifest
from headrace.runtime.savepoint.savepoint import Savepoint


def round_trip(savepoint: Savepoint) -> Savepoint:
    """Return the savepoint after encoding to, and decoding from, JSON and Arrow batches."""
    # Imported here because it imports pyarrow, which most tests do not need.
    from headrace.runtime.savepoint.arrow import from_batches, to_batches

    parts = {}
    for name, records in savepoint.parts.items():
        table = name.partition("/")[0]
        parts[name] = list(from_batches(table, to_batches(table, records)))
    return Savepoint(Manifest.from_json(savepoint.manifest.to_json()), parts)
