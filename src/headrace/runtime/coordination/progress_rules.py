"""The rules for what an enumerator returns: broken ones are an error, never a wrong result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.connector import JsonValue, Progress, SplitRange
from headrace.errors import JobError
from headrace.runtime.coordination.offset import SourceProgress
from headrace.runtime.program import SourceProgram


def first_positions(source: SourceProgram, answer: Any) -> dict[str, JsonValue]:
    """Check what ``initial`` returned, and return it as JSON.

    Raises:
        JobError: the result is not a mapping from splits to JSON positions.
    """
    return _as_json(source, "initial()", answer)


def resumed_positions(
    source: SourceProgram, before: SourceProgress, answer: Any
) -> dict[str, JsonValue]:
    """Check what ``resume`` returned, and return it as JSON.

    Raises:
        JobError: the result is not a mapping, or has other splits than the argument.
    """
    found = _as_json(source, "resume()", answer)
    for split in found.keys() ^ {*before.positions, *before.stopped}:
        raise _contract_error(source, "resume() returns the splits that it is given", split)
    return found


def validate_progress(
    source: SourceProgram,
    before: SourceProgress,
    initial: Mapping[str, JsonValue],
    answer: Any,
    paused: frozenset[str],
) -> SourceProgress:
    """Check the result of ``advance``; return it as JSON, with the first positions of new splits.

    ``initial``: the splits that are not in the offset yet, with their first positions.

    Raises:
        JobError: the result breaks a rule of ``Progress``.
    """
    if not isinstance(answer, Progress):
        raise _contract_error(source, f"advance() must return a Progress, not {answer!r:.100}")
    if answer.positions == before.positions and not (
        initial or answer.started or answer.finished or answer.ended
    ):
        return SourceProgress(before.positions)
    positions = _as_json(source, "Progress.positions", answer.positions)
    started = _as_json(source, "Progress.started", answer.started)
    finished = _as_json(source, "Progress.finished", _finished_positions(source, answer.finished))
    known = {**before.positions, **initial}
    for split in [*positions, *finished]:
        if split in positions and split in finished:
            raise _contract_error(source, "a split cannot be finished and go on", split)
        if split in before.finished:
            raise _contract_error(source, "a finished split must not be named again", split)
        if split not in known and split not in started:
            raise _contract_error(
                source,
                "a new split has no first position",
                split,
                hint="return it in Progress(started={split: first position}), or from initial()",
            )
    for split, at in started.items():
        if split in known and known[split] != at:
            raise _contract_error(source, "a split has started already, at another position", split)
    for split in {**known, **started}:
        if split not in positions and split not in finished:
            raise _contract_error(source, "a split vanished without being finished", split)
    for split in paused:
        if split in finished or positions[split] != known[split]:
            raise _contract_error(source, "a paused split must keep its position", split)
    if answer.ended and positions:
        going_on = next(iter(positions))
        raise _contract_error(source, "a source that has ended has no splits that go on", going_on)
    new = {split: at for split, at in started.items() if split not in before.positions}
    return SourceProgress(positions, {**initial, **new}, finished, ended=bool(answer.ended))


def check_range(source: SourceProgram, split_range: Any, splits: Mapping[str, object]) -> None:
    """Check that ``ranges`` returned a range of a split that the micro-batch reads.

    Raises:
        JobError: the object is not a range, or is one of another split.
    """
    if not isinstance(split_range, SplitRange):
        raise _contract_error(source, f"ranges() must return SplitRanges, not {split_range!r:.100}")
    if split_range.split not in splits:
        raise _contract_error(
            source, "ranges() reads a split that was not named", split_range.split
        )


def _finished_positions(source: SourceProgram, finished: Any) -> Mapping[str, JsonValue]:
    if isinstance(finished, Mapping):
        return finished
    if isinstance(finished, str) or not isinstance(finished, Iterable):
        found = f"{finished!r:.100}"
        raise _contract_error(source, f"Progress.finished must be a mapping or a set, not {found}")
    return dict.fromkeys(finished)


def _as_json(source: SourceProgram, what: str, answer: Any) -> dict[str, JsonValue]:
    """Return the answer as it would be read from the log: converted to JSON and back."""
    if not isinstance(answer, Mapping):
        raise _contract_error(source, f"{what} must be a mapping from splits to positions")
    for split in answer:
        if not isinstance(split, str):
            raise _contract_error(source, f"{what}: a split is named by a text, not {split!r:.100}")
    try:
        text = json.dumps(dict(answer), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        for split, at in answer.items():
            if not _is_json(at):
                raise _contract_error(
                    source,
                    f"{what}: a position is no JSON ({error}): {at!r:.100}",
                    split,
                    hint="use numbers, texts, lists and dictionaries with texts as keys",
                ) from error
        raise _contract_error(source, f"{what} is no JSON: {error}") from error
    plain: dict[str, JsonValue] = json.loads(text)
    return plain


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _contract_error(
    source: SourceProgram, rule: str, split: str | None = None, hint: str | None = None
) -> JobError:
    """Return the error for an enumerator that breaks a rule of its contract."""
    where = {"source": f"{source.name} (uid={source.uid or 'none'})"}
    if split is not None:
        where["split"] = split
    return JobError(f"the enumerator of {source.name} broke a rule: {rule}", where=where, hint=hint)
