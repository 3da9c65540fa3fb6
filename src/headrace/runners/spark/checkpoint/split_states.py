"""What splits remember between micro-batches: one object of the checkpoint per epoch.

The sink's commit writes the states at the end of an epoch, before Spark calls the micro-batch
done; the source plans the next one from them. So a micro-batch that is run again starts from
the same states.

The object is JSON: for each source, for each split, its watermark and what its operators keep.
"""

from __future__ import annotations

import json
from typing import Any

from headrace.common._storage.object_store import ObjectStore, numbered_name, stored_numbers
from headrace.common._storage.plain_json import from_json, to_json
from headrace.common._storage.sealed import ObjectFormat, json_bytes, missing_object, seal, unseal
from headrace.runners.spark.checkpoint.layout import SPLITS
from headrace.runtime.coordination.coordinator import States
from headrace.runtime.tasks.source_task import SplitState

_FORMAT = ObjectFormat("split states")
_KEPT_EPOCHS = 8


class SplitStates:
    """A log with one object per epoch; the last few are kept."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._last: tuple[int, States] = (0, {})

    def load(self, epoch: int) -> States:
        """The states at the end of an epoch; before the first one (epoch 0) there are none.

        Raises:
            CheckpointError: the object is missing or damaged.
        """
        if epoch == 0:
            return {}
        if self._last[0] != epoch:
            name = numbered_name(SPLITS, epoch)
            location = self._store.location(name)
            data = self._store.get(name)
            if data is None:
                raise missing_object(f"what splits remember at the end of epoch {epoch}", location)
            self._last = (epoch, _from_plain(json.loads(unseal(_FORMAT, data, location).payload)))
        return self._last[1]

    def save(self, epoch: int, states: States) -> States:
        """Write the states of an epoch and give them back; old ones go.

        Where the epoch has states already, those count: they were written by the commit that has
        published the micro-batch, of this driver or of the one before it.
        """
        data = seal(_FORMAT, json_bytes(_to_plain(states)))
        if not self._store.put_if_absent(numbered_name(SPLITS, epoch), data):
            return self.load(epoch)
        for old in stored_numbers(self._store, SPLITS):
            if old <= epoch - _KEPT_EPOCHS:
                self._store.delete(numbered_name(SPLITS, old))
        return states

    def has(self, epoch: int) -> bool:
        """True when the states at the end of an epoch are written."""
        return self._store.get(numbered_name(SPLITS, epoch)) is not None

    @property
    def last(self) -> int:
        """The last epoch that has states; 0 before the first."""
        return max(stored_numbers(self._store, SPLITS), default=0)


def _to_plain(states: States) -> list[Any]:
    """A list of (source, splits), splits a list of (split, watermark, nodes); keys as they are."""
    sources: dict[Any, list[Any]] = {}
    for (source, split), state in states.items():
        nodes = [[node, to_json(kept)] for node, kept in state.nodes.items()]
        sources.setdefault(source, []).append([split, state.watermark, nodes])
    return [[source, splits] for source, splits in sources.items()]


def _from_plain(plain: list[Any]) -> States:
    return {
        (source, split): SplitState(watermark, {node: from_json(kept) for node, kept in nodes})
        for source, splits in plain
        for split, watermark, nodes in splits
    }
