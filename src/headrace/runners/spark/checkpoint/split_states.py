"""The states of source splits after each epoch, as objects in the checkpoint.

The sink's commit writes the states at the end of an epoch, before Spark completes the micro-batch.
The source plans the next micro-batch from them. So a repeated micro-batch starts from the same
states.

The object is JSON: for each source and split, its watermark and the snapshots of its operators.
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
    """The stored split states, one object per epoch; only the last few are kept."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._last: tuple[int, States] = (0, {})

    def load(self, epoch: int) -> States:
        """Return the states at the end of an epoch; empty for epoch 0.

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
                raise missing_object(f"the states of splits at the end of epoch {epoch}", location)
            self._last = (epoch, _from_plain(json.loads(unseal(_FORMAT, data, location).payload)))
        return self._last[1]

    def save(self, epoch: int, states: States) -> States:
        """Store the states of an epoch, remove old states, and return the stored ones.

        If the epoch has states already, these are returned: the commit that published the
        micro-batch wrote them.
        """
        data = seal(_FORMAT, json_bytes(_to_plain(states)))
        if not self._store.put_if_absent(numbered_name(SPLITS, epoch), data):
            return self.load(epoch)
        for old in stored_numbers(self._store, SPLITS):
            if old <= epoch - _KEPT_EPOCHS:
                self._store.delete(numbered_name(SPLITS, old))
        return states

    def has(self, epoch: int) -> bool:
        """Return whether the states at the end of an epoch are stored."""
        return self._store.get(numbered_name(SPLITS, epoch)) is not None

    @property
    def last(self) -> int:
        """The last epoch with states; 0 if there is none."""
        return max(stored_numbers(self._store, SPLITS), default=0)


def _to_plain(states: States) -> list[Any]:
    """Return a list of (source, splits), where splits is a list of (split, watermark, nodes)."""
    sources: dict[Any, list[Any]] = {}
    for (source, split), state in states.items():
        nodes = [[node, to_json(snapshot)] for node, snapshot in state.nodes.items()]
        sources.setdefault(source, []).append([split, state.watermark, nodes])
    return [[source, splits] for source, splits in sources.items()]


def _from_plain(plain: list[Any]) -> States:
    return {
        (source, split): SplitState(
            watermark, {node: from_json(snapshot) for node, snapshot in nodes}
        )
        for source, splits in plain
        for split, watermark, nodes in splits
    }
