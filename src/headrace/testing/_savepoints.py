"""A savepoint on its way through bytes."""

from __future__ import annotations

from headrace.runtime.savepoint.manifest import Manifest
from headrace.runtime.savepoint.savepoint import Savepoint


def round_trip(savepoint: Savepoint) -> Savepoint:
    """The form as it comes back from bytes: JSON and Arrow batches."""
    # Here, as it imports pyarrow: tests of rows start without it.
    from headrace.runtime.savepoint.arrow import from_batches, to_batches

    parts = {}
    for name, records in savepoint.parts.items():
        table = name.partition("/")[0]
        parts[name] = list(from_batches(table, to_batches(table, records)))
    return Savepoint(Manifest.from_json(savepoint.manifest.to_json()), parts)
