"""Whether sinks may have published something from a checkpoint: no other program begins there."""

from __future__ import annotations

from headrace.common._storage.sealed import ObjectFormat, get_json, json_bytes, seal
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint import progress
from headrace.runners.spark.checkpoint.facts import Facts
from headrace.runners.spark.checkpoint.layout import BEGUN, Place
from headrace.runners.spark.checkpoint.split_states import SplitStates

_BEGUN = ObjectFormat("begun")


def begin_here(place: Place) -> None:
    """Say that something may be published from here: no other program may begin here."""
    if place.store.get(BEGUN) is None:
        place.store.put_if_absent(BEGUN, seal(_BEGUN, json_bytes({})))


def has_published(place: Place) -> bool:
    """Whether a sink may have published something from here."""
    return (
        get_json(place.store, BEGUN, _BEGUN) is not None
        or SplitStates(place.store).last > 0
        or any(progress.has_committed(place.spark(n)) for n in place.generations())
        or _tasks_may_have_committed(place)
    )


def _tasks_may_have_committed(place: Place) -> bool:
    """True when a sink that commits by task was at work: such commits are not reported."""
    if not any(progress.has_planned(place.spark(n)) for n in place.generations()):
        return False
    try:
        facts = Facts.read(place.store)
    except CheckpointError:
        return False  # reported where the facts are needed
    return facts is not None and facts.tasks_commit
