"""What happens when a source stops before the end of its input: it is drained, or kept open.

A run that *drains* ends event time: every split gets the final watermark, and windows and timers
fire. Without drain each split keeps its watermark, and windows, timers and state are kept. Another
run of the program, with another stop or none, continues at the same position. Sources with an end
(files, a collection) are drained by every run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.coordination.offset import Offset, SourceProgress, source_key
from headrace.runtime.program import SourceProgram

_OWN_END = "its end"


def describe_stop(source: Any) -> str:
    """Return where a connector's ``Source`` stops, as text for offsets; empty if it does not."""
    if source is None:  # a program as the workers have it
        return ""
    if source.stops_at:
        return str(source.stops_at)
    return _OWN_END if source.bounded else ""


def stop_changed(source: SourceProgram, before: SourceProgress) -> bool:
    """Return True if a source stops elsewhere than when the offset was written."""
    return before.until is not None and before.until != describe_stop(source.source)


def sources_to_resume(sources: Iterable[SourceProgram], offset: Offset) -> set[Any]:
    """Return the sources that an earlier run left at their stop, and that this run continues.

    Empty if a source has not reached its (unchanged) stop yet: the earlier run was interrupted.
    Then stopped sources stay stopped, as a rule such as "latest" would now give another position.
    """
    known = [source for source in sources if source_key(source.id) in offset.sources]
    for source in known:
        before = offset.source(source.id)
        if before.until and not before.ended and not stop_changed(source, before):
            return set()
    return {source.id for source in known if offset.source(source.id).suspended}


def progress_to_record(
    source: SourceProgram, before: SourceProgress, after: SourceProgress, drain: bool
) -> SourceProgress:
    """Return the progress to write down, from the one that ``advance`` returned.

    Without drain, a finished split is recorded as stopped, so a later run can continue it. A split
    whose end position is unknown cannot be continued, so it is drained.
    """
    stops = source.source is not None and bool(source.source.stops_at)
    stopped, finished = dict(before.stopped), dict(after.finished)
    stopping = [split for split in finished if stops and source.source.stops(split)]
    if not drain:
        kept_open = [split for split in stopping if finished[split] is not None]
        stopped |= {split: finished.pop(split) for split in kept_open}
    suspended = stops and not drain and after.ended
    drained_split = any(split in finished for split in stopping)
    drained = before.drained or drained_split or (after.ended and not suspended)
    return replace(
        after,
        until=describe_stop(source.source),
        stopped=stopped,
        finished=finished,
        suspended=suspended,
        drained=drained,
    )


def drained_progress(before: SourceProgress) -> SourceProgress:
    """Return the progress of a source whose splits all end where they are."""
    if before.ended and not before.suspended:
        return before.carried_over()
    return replace(
        before,
        positions={},
        started={},
        finished={**before.positions, **before.stopped},
        idle=frozenset(),
        seen_ms={},
        ended=True,
        stopped={},
        suspended=False,
        drained=True,
    )


def check_not_drained(sources: Iterable[SourceProgram], offset: Offset) -> None:
    """Check that no source continues after an earlier run has drained.

    Raises:
        CheckpointError: a source would continue.
    """
    for source in sources:
        before = offset.source(source.id)
        if source.source is None or source_key(source.id) not in offset.sources:
            continue
        if not before.drained or not stop_changed(source, before):
            continue
        raise CheckpointError(
            f"{source.name!r} cannot be continued: an earlier run was drained where it stopped, so"
            " event time has ended, windows and timers have fired, and new records would be late",
            where={
                "source": f"{source.name} (uid={source.uid or 'none'})",
                "stopped at": before.until or "the end of its input",
                "to stop at": describe_stop(source.source) or "no end",
            },
            hint="run the bounded program again with `headrace run --no-drain --fresh`"
            " (headrace.stop.drain: false); then this program continues from its checkpoint",
        )


__all__ = [
    "check_not_drained",
    "describe_stop",
    "drained_progress",
    "progress_to_record",
    "sources_to_resume",
    "stop_changed",
]
