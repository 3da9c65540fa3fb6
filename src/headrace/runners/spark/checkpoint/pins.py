"""Pins: frozen copies of a checkpoint after one committed micro-batch.

A pin is made beside the driver between two micro-batches, so sources, state and sinks are of one
moment. It has the files of a checkpoint's folder, so it is read like one, and for a savepoint also
the pending data of sinks. On a local file system it has hard links to the files of the state, made
in some milliseconds: Spark never changes such a file, and removes old ones. On remote storage there
are no links, and the state stays where it is: Spark keeps each version for 100 micro-batches.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from headrace.common._storage.file_system import ListedFile
from headrace.common._storage.locations import file_system_of, is_url
from headrace.common._storage.sealed import ObjectFormat, get_json, missing_object, put_json
from headrace.connector import Committer
from headrace.runners.spark.checkpoint import progress, spark_files
from headrace.runners.spark.checkpoint.layout import (
    BEGUN,
    DATAFRAME,
    JOB,
    PINS,
    SPLITS,
    CheckpointFolder,
)
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.split_states import SplitStates

_PIN = ObjectFormat("pin")
_ABOUT = "pin"
_PENDING = "pending"
_VERSION = re.compile(r"\.?([0-9]+)_[^.]+\.(zip|changelog)(?:\.crc)*")
_COPY_BYTES = 4 << 20
_SNAPSHOTS = 2
"""The newest snapshot may be of an attempt that did not count."""


@dataclass(frozen=True)
class Pin:
    """A pinned micro-batch.

    Fields:
        folder: the pin, as a checkpoint.
        batch: Spark's number of the micro-batch.
        micro_batch: the job's number of it.
        state_folder: the folder of Spark's that has the state.
        made_ms: when it was made.
        pause_ms: how long that took: a running job waits for it.
    """

    folder: CheckpointFolder
    batch: int
    micro_batch: int
    state_folder: str
    made_ms: int
    pause_ms: int = 0

    @property
    def has_own_state(self) -> bool:
        """Whether the state is in the pin's own folder, where Spark does not remove it."""
        return self.state_folder.startswith(posixpath.join(self.folder.directory, ""))

    @property
    def metadata(self) -> CheckpointMetadata:
        """Whose checkpoint it is."""
        found = CheckpointMetadata.read(self.folder.store)
        if found is None:
            raise missing_object("the description of the job", self.folder.store.location(JOB))
        return found

    def pending(self) -> Iterator[tuple[str, bytes]]:
        """Yield the pending data of sinks: the sink's id and a piece, in order."""
        store = self.folder.store
        for name in store.list(f"{_PENDING}/"):
            data = store.get(name)
            if data is None:
                raise missing_object("the pending data of a sink", store.location(name))
            sink, _, piece = data.partition(b"\n")
            yield sink.decode(), piece

    def remove(self) -> None:
        """Remove the pin; it is incomplete from the beginning."""
        self.folder.signals.delete(_ABOUT)
        self.folder.files.remove_folder(self.folder.directory)


def make_pin(
    checkpoint_folder: CheckpointFolder,
    name: str,
    generation: int,
    epoch: int,
    committers: Mapping[str, Committer],
) -> Pin | None:
    """Pin the last committed micro-batch of a running job; None if none is committed yet.

    Called while no micro-batch is planned or runs. ``name``: its folder below the checkpoint.
    ``generation``: the running one. ``epoch``: the last one that is committed. ``committers``: by
    sink id, those whose pending data the pin is to have.

    Raises:
        CheckpointError: the checkpoint is damaged.
        OSError: the storage fails.
    """
    began = time.monotonic()
    spark = checkpoint_folder.spark(generation)
    log = progress.log_of(spark)
    if log.end is None or log.planned is not None or log.end["epoch"] != epoch:
        return None
    pinned = CheckpointFolder(posixpath.join(checkpoint_folder.directory, name))
    store = pinned.signals
    metadata = CheckpointMetadata.read(checkpoint_folder.store)
    if metadata is None:
        location = checkpoint_folder.store.location(JOB)
        raise missing_object("the description of the job", location)
    settled = metadata.generation.without_origin_if(True)
    replace(metadata, generation=settled).write(store)
    _copy_small(checkpoint_folder, pinned, epoch)
    number = 0
    for sink, committer in committers.items():
        for piece in committer.snapshot():
            store.put(f"{_PENDING}/{number:08d}", sink.encode() + b"\n" + piece)
            number += 1
    target = pinned.spark(generation)
    _copy_logs(spark, target, log.committed)
    state_folder = spark
    if not is_url(spark):
        _link_state(spark, target, log.committed)
        spark_files.relocate(target)
        state_folder = target
    made_ms = time.time_ns() // 1_000_000
    micro_batch = settled.first_batch + log.committed
    pause_ms = round((time.monotonic() - began) * 1000)
    pin = Pin(pinned, log.committed, micro_batch, state_folder, made_ms, pause_ms)
    _write_about(pin)
    return pin


def _write_about(pin: Pin) -> None:
    about = {
        "batch": pin.batch,
        "micro_batch": pin.micro_batch,
        "state": pin.state_folder,
        "made_ms": pin.made_ms,
        "pause_ms": pin.pause_ms,
    }
    put_json(pin.folder.signals, _ABOUT, _PIN, about)


def with_own_state(pin: Pin) -> Pin:
    """Return the pin with its state in its own folder; on remote storage it is copied.

    Raises:
        FileNotFoundError: Spark has removed the version of the state meanwhile.
        OSError: the storage fails.
    """
    target = pin.folder.spark(pin.metadata.generation.number)
    if pin.state_folder == target:
        return pin
    top = posixpath.join(pin.state_folder, "state")
    by_folder: dict[str, list[str]] = {}
    for file in _files_in(top):
        folder, name = posixpath.split(file.path)
        by_folder.setdefault(folder, []).append(name)
    for folder, names in by_folder.items():
        inside = posixpath.join(target, "state", posixpath.relpath(folder, top))
        for name in needed_files(names, pin.batch + 1):
            _copy_file(posixpath.join(folder, name), posixpath.join(inside, name))
    spark_files.relocate(target)
    own = replace(pin, state_folder=target)
    _write_about(own)
    return own


def copy_pin(pin: Pin, checkpoint_folder: CheckpointFolder) -> None:
    """Make a checkpoint of a pin with a state of its own, in a folder without a checkpoint.

    The pending data stays in the sinks: they are those of the same job.
    """
    _take_folders(pin.folder, checkpoint_folder, ("spark", DATAFRAME))
    spark_files.relocate(checkpoint_folder.spark(pin.metadata.generation.number))
    store, copied = checkpoint_folder.store, pin.folder.store
    names = [BEGUN, *copied.list(f"{SPLITS}/"), JOB]
    for name in names:
        data = copied.get(name)
        if data is not None:
            store.put(name, data)


def read_pin(checkpoint_folder: CheckpointFolder, name: str) -> Pin | None:
    """Return a pin by its name; None if there is none, or it is not complete."""
    pinned = CheckpointFolder(posixpath.join(checkpoint_folder.directory, name))
    about = get_json(pinned.store, _ABOUT, _PIN)
    if about is None:
        return None
    numbers = about["batch"], about["micro_batch"]
    pause_ms = about.get("pause_ms", 0)  # restore points of version 0.1 do not have it
    return Pin(pinned, *numbers, about["state"], about["made_ms"], pause_ms)


def remove_pins(checkpoint_folder: CheckpointFolder) -> None:
    """Remove the pins of earlier drivers: what they were made for has ended."""
    checkpoint_folder.files.remove_folder(posixpath.join(checkpoint_folder.directory, PINS))


def _copy_small(checkpoint_folder: CheckpointFolder, pinned: CheckpointFolder, epoch: int) -> None:
    """Copy what is small: marks, split states, and what enumerators keep."""
    store, target = checkpoint_folder.store, pinned.signals
    begun = store.get(BEGUN)
    if begun is not None:
        target.put(BEGUN, begun)
    SplitStates(target).save(epoch, SplitStates(store).load(epoch))
    _take_folders(checkpoint_folder, pinned, (DATAFRAME,))


def _take_folders(
    source: CheckpointFolder, target: CheckpointFolder, fixed: tuple[str, ...]
) -> None:
    """Copy what enumerators keep, and take folders that begin with ``fixed``."""
    for name in source.files.names(source.directory):
        if name.startswith("source-"):
            _copy_tree(source.directory, target.directory, name)  # it may grow in place
        elif name.startswith(fixed):
            _take_tree(
                posixpath.join(source.directory, name), posixpath.join(target.directory, name)
            )


def _copy_tree(source: str, target: str, name: str) -> None:
    files = file_system_of(source)
    for file in files.all_files(posixpath.join(source, name)):
        data = files.read(file.path)
        if data is not None:
            files.replace(posixpath.join(target, posixpath.relpath(file.path, source)), data)


def _copy_logs(spark: str, target: str, batch: int) -> None:
    """Copy Spark's logs of the last two micro-batches, of which Spark reads both."""
    files = file_system_of(spark)
    names = ["metadata"]
    names += [f"{log}/{n}" for log in ("offsets", "commits") for n in (batch - 1, batch) if n >= 0]
    for name in names:
        data = files.read(posixpath.join(spark, name))
        if data is not None:
            files.replace(posixpath.join(target, name), data)
    _take_tree(posixpath.join(spark, "sources"), posixpath.join(target, "sources"))


def _link_state(spark: str, target: str, batch: int) -> None:
    """Link the files that a version of the state needs."""
    top = os.path.join(spark, "state")
    for folder, _, names in os.walk(top):
        inside = os.path.join(target, "state", os.path.relpath(folder, top))
        for name in needed_files(names, batch + 1):
            _link(os.path.join(folder, name), os.path.join(inside, name))


def needed_files(names: Iterable[str], version: int) -> list[str]:
    """Return the names in a folder of the state that a version needs, of those that are there.

    These are its changes since one of the newest snapshots, and all files that have no version.
    """
    names = [name for name in names if not name.endswith(".tmp")]
    versions = {name: _VERSION.fullmatch(name) for name in names}
    found_snapshots = {
        int(found[1]) for found in versions.values() if found is not None and found[2] == "zip"
    }
    snapshots = sorted((at for at in found_snapshots if at <= version), reverse=True)
    first = snapshots[:_SNAPSHOTS][-1] if snapshots else 0
    return [
        name
        for name, found in versions.items()
        if found is None or first <= int(found[1]) <= version
    ]


def _take_tree(source: str, target: str) -> None:
    """Link the files of a folder, which do not change; on remote storage they are copied."""
    for file in _files_in(source):
        path = posixpath.join(target, posixpath.relpath(file.path, source))
        if is_url(source):
            _copy_file(file.path, path)
        else:
            _link(file.path, path)


def _files_in(folder: str) -> list[ListedFile]:
    """Return the files in a folder; on remote storage an empty object may stand for a folder."""
    files = file_system_of(folder).all_files(folder)
    return [file for file in files if file.size_bytes or not is_url(folder)]


def _copy_file(source: str, target: str) -> None:
    files = file_system_of(source)
    with files.open(source) as content:
        out = files.create(target)
        try:
            shutil.copyfileobj(content, out, _COPY_BYTES)
            files.sync(out)
        finally:
            out.close()


def _link(source: str, target: str) -> None:
    """Link a file; copy it where there are no links. One that Spark has removed is not needed."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with suppress(FileNotFoundError):
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise
        except OSError:
            shutil.copy2(source, target)
