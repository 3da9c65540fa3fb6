"""The broadcast input of a task, shared by all of its key groups, which run one after another.

Each key group must see the broadcast state of its own position in the merged order of inputs. So
the broadcast records get one order for the whole task, as if one sender had sent them. The first
group runs the operator on them, and the changes of the state are recorded by position. Each other
group repeats these changes at the same positions, and undoes them at its end. Groups without keys
(subtasks) all run the operator: each has its own instance and its own results.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Self

from headrace.runtime.block import Block, decode, encode
from headrace.runtime.ordering.batches import sort_batch_by_time
from headrace.runtime.ordering.run import Run
from headrace.runtime.ordering.streams import Reached, merge_senders
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.broadcast_state import BroadcastStateStore, Change, write_changes
from headrace.runtime.state.heap import HeapBackend

Place = tuple[int, int]
"""An input, and the position of a run of its records."""


class BroadcastInput:
    """The broadcast input of one vertex in one call of its stage, and its broadcast state.

    ``blocks``: sorted by (sender, seq). ``backend``: holds the broadcast state. The groups of a
    call must run in the same order if a micro-batch is repeated.
    """

    def __init__(
        self, backend: StateBackend, blocks: Sequence[Block] = (), senders: Sequence[int] = ()
    ) -> None:
        self.blocks = blocks
        self.now_ms = max((block.now_ms for block in blocks), default=0)
        self._backend, self._senders = backend, senders
        self._merged_blocks: list[Block] | None = None
        self._loaded: list[BroadcastStateStore] = []
        self._changes: dict[Place, tuple[Change, ...]] = {}
        self._for_all: set[Place] = set()
        self._is_claimed = False

    def to_bytes(self) -> bytes:
        """Serialize the blocks, and the state before the call; to be used before ``finish``."""
        state = [(key, {**entry}) for key, entry in self._backend.scan()]
        return pickle.dumps(([*map(encode, self.blocks)], [*self._senders], state), 5)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Deserialize the result of ``to_bytes``; the state is on the heap."""
        blocks, senders, state = pickle.loads(data)
        backend = HeapBackend()
        for key, entry in state:
            backend.enter(key).update(entry)
        return cls(backend, [*map(decode, blocks)], senders)

    def load_into(self, states: BroadcastStateStore) -> None:
        """Load the state of the end of the last call into a store, unless it was loaded already."""
        if not any(states is known for known in self._loaded):
            states.load(self._backend)
            self._loaded.append(states)

    def claim_first_run(self) -> bool:
        """Return True for the first group that asks: it runs the operator."""
        first, self._is_claimed = not self._is_claimed, True
        return first

    def merged_blocks(self, reached: Reached) -> list[Block]:
        """Return one block for each broadcast input, with its records and marks merged."""
        if self._merged_blocks is None:
            self._merged_blocks = [
                merge_senders(blocks, senders, reached)._replace(input=number)
                for number, (blocks, senders) in sorted(self._by_input().items())
            ]
        return self._merged_blocks

    def batch_runs(self) -> Iterator[Run]:
        """Yield the records of each broadcast input of a batch, sorted by timestamp.

        They are processed before all other records.
        """
        # One run for each input: a place is an input, and where in its records a run begins.
        for _, (blocks, _) in sorted(self._by_input().items()):
            if any(block.values for block in blocks):
                yield sort_batch_by_time(blocks)

    def _by_input(self) -> dict[int, tuple[list[Block], list[int]]]:
        found: dict[int, tuple[list[Block], list[int]]] = {}
        for block, sender in zip(self.blocks, self._senders, strict=True):
            blocks, senders = found.setdefault(block.input, ([], []))
            blocks.append(block)
            senders.append(sender)
        return found

    def record_changes(
        self, place: Place, changes: tuple[Change, ...], for_all: bool = False
    ) -> None:
        """Record the changes that the broadcast records at a position made.

        ``for_all``: they used the keys of all groups, so each group must run the operator.
        """
        self._changes.setdefault(place, changes)
        if for_all:
            self._for_all.add(place)

    def is_for_all(self, place: Place) -> bool:
        """Return whether the records at a position used the keys of all groups."""
        return place in self._for_all

    def changes_at(self, place: Place) -> tuple[Change, ...]:
        """Return the changes that the broadcast records at a position made."""
        return self._changes[place]

    def finish(self) -> None:
        """Write all changes to the backend; call it after the last group."""
        changes = [change for each in self._changes.values() for change in each]
        if changes:
            write_changes(changes, self._backend)
