"""One call of a stage: its groups are worked one after another, and share what they can."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from headrace.runtime.block import ALL_GROUPS, Block, Envelope
from headrace.runtime.program import VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.tasks.broadcast import BroadcastInput
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput

MakeBackend = Callable[[VertexProgram, int], StateBackend]
"""Returns the backend of a vertex's group."""


class StageCall:
    """Runs the groups of one call of a stage, which share output blocks.

    ``backend_of`` returns the backend of a vertex's group; for ``ALL_GROUPS``, that of the
    broadcast state.
    """

    def __init__(self, backend_of: MakeBackend | None = None) -> None:
        self._begun: dict[KeyedTask, None] = {}
        self._backend_of = backend_of
        self._broadcast: dict[str, BroadcastInput] = {}

    def broadcast(
        self, vertex: VertexProgram, blocks: Sequence[Block] = (), senders: Sequence[int] = ()
    ) -> BroadcastInput:
        """Return a vertex's broadcast input; pass its blocks before the first ``run_group``."""
        found = self._broadcast.get(vertex.id)
        if found is None:
            assert self._backend_of is not None, "broadcast state has a backend"
            backend = self._backend_of(vertex, ALL_GROUPS)
            found = self._broadcast[vertex.id] = BroadcastInput(backend, blocks, senders)
        return found

    def run_group(
        self, task: KeyedTask, task_input: TaskInput, backend: StateBackend
    ) -> Iterator[Envelope]:
        """Process a group's micro-batch; call it for the groups of a vertex in ascending order."""
        if task.vertex.broadcast:
            shared = self.broadcast(task.vertex)
            now_ms = max(task_input.now_ms, shared.now_ms)
            task_input = task_input._replace(broadcast=shared, now_ms=now_ms)
        keep_buffers = task in self._begun
        self._begun[task] = None
        return task.run_group(task_input, backend, keep_buffers)

    def drain(self, except_for: Collection[str] = ()) -> Iterator[Envelope]:
        """Yield the buffered output, without that of ``except_for``; write the broadcast state.

        Call it after all groups.
        """
        for task in self._begun:
            if task.vertex.id not in except_for:
                yield from task.drain()
        for shared in self._broadcast.values():
            shared.finish()
