"""Headrace's own part of the checkpoints of earlier versions, value by value."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common._storage.folder_store import FolderStore
from headrace.common._storage.object_store import numbered_name
from headrace.common._storage.sealed import get_json
from headrace.connector import CommitterContext
from headrace.runners.spark.checkpoint import owners, published
from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import BEGUN, LEASES, folder_name
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.progress import log_of
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.layout import OPERATOR, SINK, SOURCE, Layout, StatefulPart
from headrace.runtime.tasks.source_task import SplitState
from tests.goldens import VERSIONS, job
from tests.goldens.pickles import of_headrace
from tests.goldens.state import sink
from tests.goldens.write import NOBODY

pytestmark = pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)


def store_of(version: Path) -> FolderStore:
    return FolderStore(str(version / "checkpoint" / folder_name(job.NAME)))


def test_whose_it_is(version: Path) -> None:
    metadata = CheckpointMetadata.read(store_of(version))
    assert metadata is not None and (metadata.name, metadata.partitions) == (job.NAME, 2)
    assert len(metadata.scope) == 12 and metadata.generation == Generation()
    assert metadata.contents == [["numbers", "Sequence", "from 0"]]
    assert Layout.from_json(metadata.layout) == Layout(
        (
            StatefulPart("numbers", SOURCE, "number-sequence", "Sequence", "numbers"),
            StatefulPart("tally", OPERATOR, "keyed-process", "KeyedProcess", "tally", 1, 4),
            StatefulPart("files", SINK, "files", "FileSink", "files"),
        ),
        (("tally",),),
    )
    assert get_json(store_of(version), BEGUN, published._PUBLISHED) == {}


def test_who_has_owned_it(version: Path) -> None:
    store = store_of(version)
    assert owners.latest_owner(store) == owners.Owner(1, "run", NOBODY, NOBODY)
    lease = owners.Lease.of_json(get_json(store, numbered_name(LEASES, 1), owners._LEASE) or {})
    assert lease == owners.Lease(3, released=True, jvm=NOBODY)


def test_what_splits_remember(version: Path) -> None:
    states = SplitStates(store_of(version))
    assert states.last == 3
    for epoch, highest in ((1, 39), (2, 79), (3, 119)):
        watermark = highest - 11
        ((split, state),) = states.load(epoch).items()
        ((node, _),) = state.nodes.items()
        assert split == ("numbers", "sequence") and node.startswith("timestamps-")
        assert state == SplitState(
            watermark, {node: (("highest", highest), watermark, False, None)}
        )


def test_how_far_it_was_read(version: Path) -> None:
    log = log_of(str(version / "checkpoint" / job.NAME / "spark"))
    assert log.committed == 2 and log.end is not None and log.planned is not None
    end, planned = Offset.from_json(log.end), Offset.from_json(log.planned)
    assert (end.epoch, planned.epoch) == (3, 4)
    assert end.sources["numbers"].positions == {"sequence": 120}
    assert planned.sources["numbers"].finished == {"sequence": 160}
    assert planned.sources["numbers"].ended and not end.sources["numbers"].ended
    assert (end.work_limits.tasks, end.work_limits.chunk_records) == (2, 4096)


def test_what_its_sink_holds_back(version: Path, tmp_path: Path) -> None:
    shutil.copytree(version / "out", tmp_path / "out")
    metadata = CheckpointMetadata.read(store_of(version))
    assert metadata is not None
    context = CommitterContext(f"files-{metadata.scope}", job.NAME)
    sink(tmp_path / "out").committer(context).finish()
    found = job.written(tmp_path / "out")
    fired = [line for line in found if "until" in line]
    assert found <= job.expected() and sum(found.values()) == 120 + len(fired)
    assert sorted(fired) == sorted(f"{key} until {ms}" for key in range(5) for ms in (50, 100))


def test_the_list_of_a_watched_folder(version: Path) -> None:
    enumerator: Any = job.watched("in").enumerator(str(version / "watched"))
    assert enumerator._read_entries() == [("in/1.txt", 8)]


def test_no_class_of_headrace_stands_in_it(version: Path) -> None:
    files = [path for path in version.rglob("*") if path.is_file()]
    payloads = [path.read_bytes().partition(b"\n") for path in files]
    sealed = [payload for head, _, payload in payloads if head.startswith(b"headrace 1 ")]
    assert len(sealed) == 8  # job, begun, owner, lease, three of splits, the sink's journal
    for pickled in (p for payload in sealed for p in _pickles(json.loads(payload))):
        assert not of_headrace(pickled)


def _pickles(value: Any) -> Iterator[bytes]:
    """What is pickled in plain JSON (``plain_json``)."""
    if isinstance(value, dict) and set(value) == {"pickle"}:
        yield b64decode(value["pickle"])
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _pickles(item)
