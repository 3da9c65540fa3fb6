"""Why a job was started again: the last restarts, kept beside its checkpoint.

restarts/<time>   one restart
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from headrace.common._storage.object_store import ObjectStore
from headrace.common._storage.sealed import ObjectFormat, get_json, put_json
from headrace.errors import HeadraceError
from headrace.runners.clock import wall_clock_ms
from headrace.runners.spark.checkpoint.layout import RESTARTS

_FORMAT = ObjectFormat("restart")
_KEPT = 20
_REASON_CHARS = 2_000


@dataclass(frozen=True)
class Restart:
    """A restart. ``of_driver``: its process began anew; otherwise only the attempt."""

    at_ms: int
    of_driver: bool
    reason: str
    host: str


def record_restart(store: ObjectStore, of_driver: bool, reason: str, host: str) -> None:
    """Store a restart; all but the last 20 are removed. If that fails, it is only printed."""
    restart = Restart(wall_clock_ms(), of_driver, reason[:_REASON_CHARS], host)
    try:
        put_json(store, f"{RESTARTS}/{restart.at_ms:014d}", _FORMAT, asdict(restart))
        for name in sorted(store.list(f"{RESTARTS}/"))[:-_KEPT]:
            store.delete(name)
    except (HeadraceError, OSError) as error:
        print(f"headrace: a restart was not recorded: {error}", file=sys.stderr)


def restarts_of(store: ObjectStore) -> Iterator[Restart]:
    """Yield the restarts that are kept, the oldest first.

    Raises:
        CheckpointError: one is damaged.
    """
    for name in sorted(store.list(f"{RESTARTS}/")):
        fields = get_json(store, name, _FORMAT)
        if fields is not None:
            yield Restart(**fields)
