"""Files of failed calls: written where a keyed task fails, read by ``headrace replay``."""

from __future__ import annotations

import os
import pickle
import re
import shlex
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from headrace.common._storage.folder_store import FolderStore
from headrace.common._storage.sealed import ObjectFormat, seal, unseal
from headrace.errors import CheckpointError, ConfigurationError
from headrace.runners import program_classes
from headrace.runtime.block import Envelope, encode
from headrace.runtime.failure import annotate, is_of_sink, original
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.pages.held import HeldPages
from headrace.runtime.tasks.broadcast import BroadcastInput
from headrace.runtime.tasks.capture import (
    FailedCall,
    RecordingBackend,
    Replay,
    failed_call,
)
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.tasks.stage_call import StageCall

FORMAT = ObjectFormat("failed call")
SUFFIX = ".headrace-call"
MAX_FILES = 10
"""How many files a folder holds at most; older ones are removed."""

_NAME_CHARACTERS = 60
_DIGEST_CHARACTERS = 10


class Captures:
    """Writes the failed calls of a job into a folder. ``program``: ``for_replay``, in bytes."""

    def __init__(self, folder: str, program: Callable[[], bytes]) -> None:
        self._folder, self._program = folder, program

    def run_call(
        self,
        groups: StageCall,
        task: KeyedTask,
        task_input: TaskInput,
        backend: StateBackend,
        blocks: Sequence[bytes] | None = None,
    ) -> Iterator[Envelope]:
        """Work through a group's micro-batch as ``groups`` does; a failure is captured.

        ``blocks``: the input's, where they are known in bytes. The exception gets a note that says
        where the file is, or why there is none.
        """
        encode_error: Exception | None = None
        if blocks is None:
            try:  # before the call: functions may change the records
                blocks = [*map(encode, task_input.blocks)]
            except Exception as error:  # not for other processes: reported if the call fails
                encode_error = error
        try:
            yield from groups.work(task, task_input, backend)
        except (Exception, SystemExit) as error:
            found = original(error)
            annotate(found)  # its note comes first
            if is_of_sink(found):
                raise  # a file has no sinks
            shared = groups.broadcast(task.vertex) if task.vertex.broadcast else None
            found.add_note(
                self._capture_note(task, task_input, backend, blocks, encode_error, found, shared)
            )
            raise

    def _capture_note(
        self,
        task: KeyedTask,
        task_input: TaskInput,
        backend: StateBackend,
        blocks: Sequence[bytes] | None,
        encode_error: Exception | None,
        error: BaseException,
        shared: BroadcastInput | None,
    ) -> str:
        """The note for the exception, after the call was written to a file."""
        try:
            if blocks is None:
                assert encode_error is not None
                raise encode_error
            call = failed_call(task, task_input, blocks, backend, self._program(), error, shared)
            path = write_call(self._folder, call)
        except Exception as problem:  # it must not hide what the user's function raised
            reason = str(problem).partition("\n")[0]
            return f"captured: nothing, as that failed too: {type(problem).__name__}: {reason}"
        command = f"headrace replay {shlex.quote(path)}"
        return f"captured: {path} on {socket.gethostname()}\nreplay:   {command}"


class LocalCaptures(Captures):
    """Those of a job in the local runner; a stream's state is in pages there, as on Spark."""

    def __init__(self, folder: str, program: JobProgram) -> None:
        super().__init__(folder, lambda: program_bytes(program))
        self._page_bytes = program.settings.page_bytes
        self._pages: dict[tuple[str, int], HeldPages] = {}

    def backend(self, vertex: VertexProgram, group: int) -> StateBackend:
        """The backend of a group, whose reads are recorded."""
        pages = self._pages.setdefault((vertex.id, group), HeldPages())
        return RecordingBackend(pages, vertex.max_parallelism_of(group), self._page_bytes)


def write_call(folder: str, call: FailedCall) -> str:
    """The path of a call's file, which is written whole or not at all. Old files are removed.

    Spark tries a task several times, and a restart strategy repeats a micro-batch. So a call that
    failed before has its file already.

    Raises:
        CheckpointError: the folder cannot be written to.
    """
    store = FolderStore(folder, durable=False)
    ending = f"-{_digest(call)}{SUFFIX}"
    for name in _files_of(folder):
        if name.endswith(ending):
            return store.location(name)
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = f"{_file_name_part(call.job)}-{_file_name_part(call.operator)}-{at}{ending}"
    _remove_oldest(folder, MAX_FILES - 1)
    store.put(name, seal(FORMAT, pickle.dumps({**vars(call)}, 5)))
    _remove_oldest(folder, MAX_FILES)  # others may have written at the same time
    return store.location(name)


def _digest(call: FailedCall) -> str:
    """Equal for all attempts at one call: the job's run, where it is, and what it was given."""
    where = f"{call.vertex} {call.group} {call.now_ms}".encode()
    found = sha256()
    for part in (call.program, where, call.shared or b"", *call.blocks):
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()[:_DIGEST_CHARACTERS]


def _file_name_part(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")[:_NAME_CHARACTERS] or "unnamed"


def _files_of(folder: str) -> list[str]:
    """The names of the calls in a folder, which may hold other things too."""
    if not os.path.isdir(folder):
        return []
    return [name for name in os.listdir(folder) if name.endswith(SUFFIX)]


def _remove_oldest(folder: str, max_files: int) -> None:
    """Delete the oldest files beyond the limit."""
    found: list[tuple[int, str]] = []
    for name in _files_of(folder):
        path = os.path.join(folder, name)
        with suppress(FileNotFoundError):  # another process makes room as well
            found.append((os.stat(path).st_mtime_ns, path))
    for _, path in sorted(found)[: max(len(found) - max_files, 0)]:
        with suppress(FileNotFoundError):
            os.unlink(path)


def program_bytes(program: JobProgram) -> bytes:
    """What a call needs of a program, with the script's classes, those of records too."""
    bare = program.for_replay()
    return program_classes.dumps(bare, used_by=program.connectors, secrets=False)


def read_call(path: str) -> FailedCall:
    """The call in a file.

    Raises:
        ConfigurationError: there is no such file, or it is no whole file of a call.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ConfigurationError(
            f"the file cannot be read: {error.strerror or error}",
            where={"file": path},
            hint="headrace replay FILE, where FILE is what the note of the exception names",
        ) from error
    try:
        fields: dict[str, Any] = pickle.loads(unseal(FORMAT, data, path).payload)
    except CheckpointError as error:
        raise ConfigurationError(
            error.message.replace("a stored object", "the file", 1),
            where={"file": path},
            hint="copy it again from where it was written, or replay it with the Headrace that"
            " wrote it",
        ) from error
    return FailedCall(**fields)


def replay_of(call: FailedCall) -> Replay:
    """A captured call, ready to be made again in this process.

    What travelled within the program (the script's own functions and classes) is as it was; modules
    are imported from where this process finds them.
    """
    program, names = program_classes.loads(call.program)
    program_classes.register_classes(names)
    return Replay(call, program, program_classes.missing_secrets())
