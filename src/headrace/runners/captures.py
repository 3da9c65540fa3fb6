"""Captured calls: files of failed calls in keyed tasks, for ``headrace replay``."""

from __future__ import annotations

import os
import pickle
import re
import shlex
import socket
import sys
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
from headrace.runtime.failure import annotate, is_sink_error, unwrap_user_error
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.broadcast import BroadcastInput
from headrace.runtime.tasks.capture import (
    FailedCall,
    RecordingBackend,
    Replay,
    capture_failed_call,
)
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.tasks.stage_call import StageCall

FORMAT = ObjectFormat("failed call", version=2)
"""Version 2 names the Python; a file without it is taken to be of this one."""
SUFFIX = ".headrace-call"
MAX_FILES = 10
"""The maximum number of files in a folder; older ones are removed."""

_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_NAME_CHARACTERS = 60
_DIGEST_CHARACTERS = 10


class Captures:
    """Writes the failed calls of a job to a folder. ``program`` returns the pickled program."""

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
        """Process a group's micro-batch, and capture the call if it fails.

        ``blocks``: the pickled input, if it is there. The exception gets a note with the file's
        path, or with the reason why there is none.
        """
        encode_error: Exception | None = None
        if blocks is None:
            try:  # before the call, as functions may change the records
                blocks = [*map(encode, task_input.blocks)]
            except Exception as error:  # reported only if the call fails
                encode_error = error
        try:
            yield from groups.run_group(task, task_input, backend)
        except (Exception, SystemExit) as error:
            failure = unwrap_user_error(error)
            annotate(failure)  # adds the note on the operator first
            if is_sink_error(failure):
                raise  # sinks are not captured
            shared = groups.broadcast(task.vertex) if task.vertex.broadcast else None
            failure.add_note(
                self._capture_note(task, task_input, backend, blocks, encode_error, failure, shared)
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
        """Write the call to a file, and return the note for the exception."""
        try:
            if blocks is None:
                assert encode_error is not None
                raise encode_error
            call = capture_failed_call(
                task, task_input, blocks, backend, self._program(), error, shared
            )
            path = write_call(self._folder, call)
        except Exception as problem:  # it must not hide what the user's function raised
            reason = str(problem).partition("\n")[0]
            return f"captured: nothing, as that failed too: {type(problem).__name__}: {reason}"
        command = f"headrace replay {shlex.quote(path)}"
        return f"captured: {path} on {socket.gethostname()}\nreplay:   {command}"


class LocalCaptures(Captures):
    """Captures of the local runner, where a stream's state is kept in pages, as on Spark."""

    def __init__(self, folder: str, program: JobProgram) -> None:
        super().__init__(folder, lambda: program_bytes(program))
        self._page_bytes = program.settings.page_bytes
        self._pages: dict[tuple[str, int], MemoryPages] = {}

    def backend(self, vertex: VertexProgram, group: int) -> StateBackend:
        """Return the state backend of a group; it records which state is read."""
        pages = self._pages.setdefault((vertex.id, group), MemoryPages())
        return RecordingBackend(pages, vertex.max_parallelism_of(group), self._page_bytes)


def write_call(folder: str, call: FailedCall) -> str:
    """Write a call to a file, and return its path.

    The oldest files beyond ``MAX_FILES`` are removed. A call that failed before has a file already,
    which is kept: Spark retries tasks, and a restart strategy repeats micro-batches.

    Raises:
        CheckpointError: the folder cannot be written to.
    """
    store = FolderStore(folder, durable=False)
    ending = f"-{_failed_call_id(call)}{SUFFIX}"
    for name in _files_of(folder):
        if name.endswith(ending):
            return store.location(name)
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = f"{_file_name_part(call.job)}-{_file_name_part(call.operator)}-{at}{ending}"
    _remove_oldest(folder, MAX_FILES - 1)
    store.put(name, seal(FORMAT, pickle.dumps({**vars(call), "python": _PYTHON}, 5)))
    _remove_oldest(folder, MAX_FILES)  # others may have written at the same time
    return store.location(name)


def _failed_call_id(call: FailedCall) -> str:
    """Return an id for a failed call.

    All attempts of one call in a run have the same id, so a repeated failure finds its file."""
    where = f"{call.vertex} {call.group} {call.now_ms}".encode()
    digest = sha256()
    for part in (call.program, where, call.shared or b"", *call.blocks):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:_DIGEST_CHARACTERS]


def _file_name_part(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")[:_NAME_CHARACTERS] or "unnamed"


def _files_of(folder: str) -> list[str]:
    """Return the names of the call files in a folder."""
    if not os.path.isdir(folder):
        return []
    return [name for name in os.listdir(folder) if name.endswith(SUFFIX)]


def _remove_oldest(folder: str, max_files: int) -> None:
    """Remove the oldest files beyond a limit."""
    files: list[tuple[int, str]] = []
    for name in _files_of(folder):
        path = os.path.join(folder, name)
        with suppress(FileNotFoundError):  # another process may remove files too
            files.append((os.stat(path).st_mtime_ns, path))
    for _, path in sorted(files)[: max(len(files) - max_files, 0)]:
        with suppress(FileNotFoundError):
            os.unlink(path)


def program_bytes(program: JobProgram) -> bytes:
    """Return the pickled program for a replay, with classes of the user's script."""
    bare = program.for_replay()
    return program_classes.dumps(bare, used_by=program.connectors, secrets=False)


def read_call(path: str) -> FailedCall:
    """Read a call from a file.

    Raises:
        ConfigurationError: there is no such file, or it is damaged or of another kind, or another
            minor version of Python wrote it: the compiled functions in it would crash this one.
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
    python = fields.pop("python", _PYTHON)
    if python != _PYTHON:
        raise ConfigurationError(
            f"the file has functions that Python {python} compiled, and this is Python {_PYTHON}",
            where={"file": path},
            hint=f"replay it with Python {python}",
        )
    return FailedCall(**fields)


def replay_of(call: FailedCall) -> Replay:
    """Prepare the replay of a call in this process.

    Functions and classes of the user's script are as they were when the call failed. Modules are
    imported as this process finds them.
    """
    program, names = program_classes.loads(call.program)
    program_classes.register_classes(names)
    return Replay(call, program, program_classes.missing_secrets())
