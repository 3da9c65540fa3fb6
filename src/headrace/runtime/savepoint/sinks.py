"""The pending data of sinks as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headrace.connector import Committer
from headrace.errors import CheckpointError
from headrace.runtime.savepoint.records import SinkRecord


def export_sinks(committers: Mapping[str, Committer]) -> Iterator[SinkRecord]:
    """Yield the pieces of every committer's snapshot; ``committers`` by the sink's id."""
    for sink, committer in committers.items():
        for position, piece in enumerate(committer.snapshot()):
            yield SinkRecord(sink, position, piece)


def import_sinks(
    records: Iterable[SinkRecord],
    committers: Mapping[str, Committer],
    ignore_unclaimed: bool = False,
) -> None:
    """Restore each sink's pending data, by its id.

    Raises:
        CheckpointError: the program lacks a sink (unless ``ignore_unclaimed``), or a record is
            missing.
    """
    by_sink: dict[str, list[SinkRecord]] = {}
    for record in records:
        by_sink.setdefault(record.sink, []).append(record)
    for sink, pieces in by_sink.items():
        if [record.position for record in pieces] != [*range(len(pieces))]:
            raise CheckpointError(
                f"a piece of the pending data of the sink {sink!r} is missing",
                hint="this savepoint is incomplete; restore from another savepoint",
            )
        if sink in committers:
            committers[sink].restore(record.pending for record in pieces)
        elif not ignore_unclaimed:
            raise CheckpointError(
                f"the savepoint has pending data of the sink {sink!r}, which the program lacks",
                where={"sinks now": ", ".join(sorted(committers)) or "none"},
                hint="put the sink back under its uid, or give --allow-non-restored-state",
            )
