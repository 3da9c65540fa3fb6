"""A call of a keyed task as a value: what it was given, what it read, and how to make it again.

A recording backend remembers what the store held before the call, of all that the call read. With
the input and the program that is enough to run the call again in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.errors import JobError
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Block, Envelope, decode
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import JobProgram
from headrace.runtime.state.backend import Entry, PageStore, StateBackend, TimerStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.bucketed_map import BucketedMap
from headrace.runtime.state.pages.chunked_list import ChunkedList
from headrace.runtime.state.pages.chunked_times import ChunkedTimes
from headrace.runtime.tasks.broadcast import BroadcastInput
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput

READ_AHEAD_BYTES = 64 << 20
"""The maximum bytes of state to read for records that a failed call had not processed."""


class RecordingStore:
    """A ``PageStore`` that records the earlier content of each name that is used.

    A name that is written before it was read is read first, so that ``before`` is never what this
    call wrote. ``before``: name to bytes, None for a name that was not there.
    """

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self.before: dict[str, bytes | None] = {}
        self.read_bytes = 0

    def get(self, name: str) -> bytes | None:
        """Return the bytes under a name, or None."""
        data = self._store.get(name)
        self._record_page(name, data)
        return data

    def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name."""
        if name not in self.before:
            self._record_page(name, self._store.get(name))
        self._store.put(name, data)

    def remove(self, name: str) -> None:
        """Remove a name."""
        if name not in self.before:
            self._record_page(name, self._store.get(name))
        self._store.remove(name)

    def _record_page(self, name: str, data: bytes | None) -> None:
        if name not in self.before:
            self.before[name] = data
            self.read_bytes += len(data or b"")


class RecordingBackend(PagedBackend):
    """Paged state for one call, which records what the call reads."""

    def __init__(self, store: PageStore, max_parallelism: int, page_bytes: int = 16384) -> None:
        self.recording = RecordingStore(store)
        super().__init__(self.recording, max_parallelism, page_bytes)


@dataclass(frozen=True)
class FailedCall:
    """A failed call of a keyed task: its input and state before the call.

    ``operator``: the name of the vertex's head. ``blocks``: as ``block.encode`` gives them.
    ``pages``: what was read of the state; None where the call began without any, on the heap (a
    batch). ``program``: the job's, ``for_replay``. ``failure``: what the call
    failed with, in a line. ``shared``: what its task got by broadcast, and the state that this
    changes (``BroadcastInput.to_bytes``); None where it has no such input.
    """

    job: str
    operator: str
    vertex: str
    group: int
    groups: int
    now_ms: int
    blocks: Sequence[bytes]
    senders: Sequence[int]
    pages: Mapping[str, bytes | None] | None
    subtask: int
    attempt: int
    parallelism: int
    max_parallelism: int
    program: bytes
    failure: str
    shared: bytes | None = None


def capture_failed_call(
    task: KeyedTask,
    task_input: TaskInput,
    blocks: Sequence[bytes],
    backend: StateBackend,
    program: bytes,
    error: BaseException,
    shared: BroadcastInput | None = None,
) -> FailedCall:
    """Return the call that just failed with ``error``.

    ``blocks``: those of ``task_input``, encoded before the call, as functions may have changed
    the records since. ``shared``: what the vertex got by broadcast, if anything.
    """
    vertex, task_info = task.vertex, task.task_info
    if shared is not None:
        task_input = task_input._replace(now_ms=max(task_input.now_ms, shared.now_ms))
    pages = None
    if isinstance(backend, RecordingBackend):
        _read_ahead(backend.recording, task, task_input)
        pages = {**backend.recording.before}
    text = str(error).partition("\n")[0]
    return FailedCall(
        job=task.job.name,
        operator=vertex.chain.nodes[vertex.chain.root].name,
        vertex=vertex.id,
        group=task_input.group,
        groups=vertex.groups,
        now_ms=task_input.now_ms,
        blocks=blocks,
        senders=task_input.senders,
        pages=pages,
        subtask=task_info.subtask(),
        attempt=task_info.attempt(),
        parallelism=task_info.parallelism,
        max_parallelism=task_info.max_parallelism,
        program=program,
        failure=f"{type(error).__name__}: {text}" if text else type(error).__name__,
        shared=None if shared is None else shared.to_bytes(),
    )


class _Enough(Exception):
    """Raised if read-ahead has reached its limit."""


class _Before:
    """The read-only ``PageStore`` of the state before the call; reads are recorded."""

    def __init__(self, recording: RecordingStore) -> None:
        self._recording = recording

    def get(self, name: str) -> bytes | None:
        if name not in self._recording.before:
            if self._recording.read_bytes >= READ_AHEAD_BYTES:
                raise _Enough
            self._recording.get(name)
        return self._recording.before[name]

    def put(self, name: str, data: bytes) -> None:
        raise AssertionError("read-ahead writes nothing")

    def remove(self, name: str) -> None:
        raise AssertionError("read-ahead removes nothing")


def _read_ahead(recording: RecordingStore, task: KeyedTask, task_input: TaskInput) -> None:
    """Read what the call would have read next, so that a corrected program finds it.

    Read the state of each key of the input, and of timers and windows that may be due. Stop at
    state that cannot be read, as that may be why the call failed.
    """
    settings = task.job.settings
    backend = PagedBackend(_Before(recording), task.vertex.groups, settings.page_bytes)
    watermarks = [mark.watermark for block in task_input.blocks for mark in block.marks]
    try:
        for block in task_input.blocks:
            for key in dict.fromkeys(block.keys or ()):
                _read_all(backend.enter(key))
        _read_due(backend, backend.event_timers, max(watermarks, default=MIN_WATERMARK))
        _read_due(backend, backend.processing_timers, task_input.now_ms)
        for _, entry in backend.tables.scan():
            _read_all(entry)
    except Exception:
        return


def _read_due(backend: PagedBackend, timers: TimerStore, until_ms: int) -> None:
    for _, timer in timers.scan():
        if timer.time_ms > until_ms:
            return
        _read_all(backend.enter(timer.key))
        if timer.namespace is not None:
            _read_all(backend.in_namespaces.enter((timer.key, timer.namespace)))


def _read_all(entry: Entry) -> None:
    for value in entry.values():
        if isinstance(value, ChunkedList | ChunkedTimes):
            for _ in value:
                pass
        elif isinstance(value, BucketedMap):
            for _ in value.items():
                pass


class _CapturedPages:
    """The ``PageStore`` of a replay: the captured pages, and those that the replay writes."""

    def __init__(self, pages: Mapping[str, bytes | None]) -> None:
        self._pages = {**pages}
        self.lacks: str | None = None
        """What was asked for and not captured."""

    def get(self, name: str) -> bytes | None:
        if name not in self._pages:
            self.lacks = name
            raise JobError("the call reads state that was not captured", where={"record": name})
        return self._pages[name]

    def put(self, name: str, data: bytes) -> None:
        self._pages[name] = data

    def remove(self, name: str) -> None:
        self._pages[name] = None


class _CapturedBackend(PagedBackend):
    """The state of a replay."""

    def __init__(self, pages: _CapturedPages, max_parallelism: int, page_bytes: int) -> None:
        super().__init__(pages, max_parallelism, page_bytes)
        self._captured = pages

    def flush(self) -> None:
        """Serialize the changes, to see whether that is possible.

        The result is not used. So if the number of pages changes, pages that were not captured are
        not needed.
        """
        lacked = self._captured.lacks
        try:
            super().flush()
        except JobError:
            if lacked is not None or self._captured.lacks is None:
                raise
            self._captured.lacks = None


class Replay:
    """A captured call that can be repeated; ``program``: unpickled from the call.

    The constructor opens the user functions. ``missing``: secrets that are not available.
    """

    def __init__(self, call: FailedCall, program: JobProgram, missing: Sequence[str] = ()) -> None:
        self._call = call
        self.missing = missing
        vertex = program.vertex(call.vertex)
        task_info = TaskInfo(
            subtask=lambda: call.subtask,
            attempt=lambda: call.attempt,
            parallelism=call.parallelism,
            max_parallelism=call.max_parallelism,
            is_batch=program.batch,
            job_parameters=program.settings.job_parameters,
        )
        self._pages = _CapturedPages(call.pages or {})
        self._backend: Callable[[], StateBackend] = HeapBackend
        if call.pages is not None:
            self._backend = lambda: _CapturedBackend(
                self._pages, vertex.groups, program.settings.page_bytes
            )
        self._blocks: list[Block] = [decode(data) for data in call.blocks]
        self._task = KeyedTask(vertex, program, task_info, MetricGroup())

    @property
    def records(self) -> int:
        """The number of records in the call's input."""
        return sum(len(block.values) for block in self._blocks)

    @property
    def lacks_state(self) -> bool:
        """Whether the replay has read state that was not captured."""
        return self._pages.lacks is not None

    def run(self) -> Iterator[Envelope]:
        """Repeat the call: yield its output, and raise what the user functions raise."""
        call = self._call
        shared = None if call.shared is None else BroadcastInput.from_bytes(call.shared)
        given = TaskInput(call.group, self._blocks, call.now_ms, call.senders, shared)
        yield from self._task.advance(given, self._backend())

    def close(self) -> None:
        """Close the user functions."""
        self._task.close()
