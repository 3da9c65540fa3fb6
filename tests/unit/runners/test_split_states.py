"""What a sink's commit keeps of the splits, in whichever order its parts arrive."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.query import sink
from headrace.runners.spark.query.sink import StreamSinkWriter, write_task
from headrace.runners.spark.query.wire import packed, to_arrow
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.coordinator import StateChanges
from headrace.runtime.source_task import SplitState
from tests.unit.runtime.programs import job_of

EPOCH = 3


def said(sender: int, changes: StateChanges) -> Envelope:
    """What one source task says of its splits."""
    return Envelope(2, 0, -1, Kind.SOURCE_STATE, sender, 0, (EPOCH, changes))


@pytest.mark.parametrize("arrival", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("tasks", [1, 3])
def test_states_are_merged_in_the_order_of_senders(
    arrival: tuple[int, ...], tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "worker_job", lambda ref: SimpleNamespace(program=job_of()))
    told = [said(n, {(0, "a"): SplitState(9, {1: f"from {n}"})}) for n in arrival]
    parts = [told] if tasks == 1 else [[each] for each in told]
    ref: Any = None
    messages = [write_task(ref, to_arrow(packed(part, 1)), EPOCH) for part in parts]
    plan: Any = SimpleNamespace(workers=ref, directory=str(tmp_path), address=None, token=b"")
    assert StreamSinkWriter(plan)._save_states(messages) == 9
    kept = SplitStates(tmp_path / "splits").load(EPOCH)
    assert kept == {(0, "a"): SplitState(9, {1: "from 2"})}
