"""``python -m tests.goldens.write``: the folder of this version, anew.

Spark writes full paths into its description of an operator's state. They are replaced by
``ELSEWHERE``, and the checksum of that file is left out: to whoever reads the golden it is a
checkpoint that was moved, and so is its output. The owner is written anew as a process that has
ended, of no machine.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from headrace import __version__
from headrace.common._storage.folder_store import FolderStore
from headrace.common._storage.object_store import numbered_name, stored_numbers
from headrace.common._storage.sealed import put_json
from headrace.connector import Budget
from headrace.runners.processes import Process
from headrace.runners.spark.checkpoint import owners
from headrace.runners.spark.checkpoint.layout import LEASES, OWNERS
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from tests.goldens import HERE, job, state

ELSEWHERE = "/elsewhere"
NOBODY = Process("host", "machine", 1, "then")


def main() -> None:
    """Write all of it."""
    target = HERE / __version__
    shutil.rmtree(target, ignore_errors=True)
    state.store(state.form(), target / "savepoint")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        _break_off(folder)
        _make_anonymous(folder)
        for part in ("checkpoint", "out"):
            shutil.copytree(folder / part, target / part)
    _list_files(target / "watched")
    for file in target.rglob("*"):
        assert file.is_dir() or str(folder).encode() not in file.read_bytes(), file


def _break_off(folder: Path) -> None:
    (folder / "fails").touch()
    try:
        job.run(folder)
    except OSError as error:
        print(f"broke off: {error}")


def _list_files(target: Path) -> None:
    """The list of a watched folder's files, with a path that is below no folder of this machine."""
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        Path("in").mkdir()
        Path("in", "1.txt").write_text("one\ntwo\n")
        watched = job.watched("in").enumerator(str(target))
        watched.advance(watched.initial(0), Budget(1, 1), 0, frozenset())


def _make_anonymous(folder: Path) -> None:
    for described in (folder / "checkpoint").glob("*/spark/state/*/_metadata/v2/0"):
        text = described.read_text().replace(str(folder), ELSEWHERE)
        described.write_text(text)
        described.with_name(".0.crc").unlink()
    store = FolderStore(str(folder / "checkpoint" / job.NAME))
    shutil.rmtree(folder / "checkpoint" / job.NAME / ".drafts", ignore_errors=True)
    metadata = CheckpointMetadata.read(store)
    assert metadata is not None
    places = {sink: at.replace(str(folder), ELSEWHERE) for sink, at in metadata.places.items()}
    replace(metadata, places=places).write(store)
    for epoch in stored_numbers(store, OWNERS):
        owner = owners.Owner(epoch, "run", NOBODY, NOBODY)
        put_json(store, numbered_name(OWNERS, epoch), owners._OWNER, owner.to_json())
        lease = owners.Lease(3, released=True, jvm=NOBODY)
        put_json(store, numbered_name(LEASES, epoch), owners._LEASE, lease.to_json())
    shutil.rmtree(folder / "checkpoint" / job.NAME / ".drafts", ignore_errors=True)


if __name__ == "__main__":
    main()
