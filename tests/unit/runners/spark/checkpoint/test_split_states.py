"""What a sink's commit keeps of the splits, in whichever order its parts arrive."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common._storage.memory_store import MemoryStore
from headrace.common._storage.object_store import stored_numbers
from headrace.common.watermark_strategy import WatermarkGenerator, WatermarkStrategy
from headrace.errors import CheckpointError
from headrace.operators.timestamps import TimestampsSpec
from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.query import writing
from headrace.runners.spark.query.sink import BatchSinkWriter, StreamSinkWriter
from headrace.runners.spark.query.wire import pack, to_arrow
from headrace.runners.spark.query.writing import TaskMessage, write_task
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.coordination.coordinator import StateChanges
from headrace.runtime.tasks.source_task import SplitState
from tests.unit.runtime.programs import job_of

EPOCH = 1


def said(sender: int, changes: StateChanges) -> Envelope:
    """What one source task says of its splits."""
    return Envelope(2, 0, -1, Kind.SOURCE_STATE, sender, 0, (EPOCH, changes))


def message(plan: Any, part: list[Envelope], epoch: int) -> TaskMessage:
    """What one task of the sink says."""
    found: TaskMessage = pickle.loads(
        write_task(plan.program_ref, to_arrow(pack(part, 1)), epoch).data
    )
    return found


def committed_watermark(plan: Any, arrival: tuple[int, ...], tasks: int, writer: Any) -> int | None:
    """Commit the split states that tasks report; returns the watermark."""
    envelopes = [said(n, {(0, "a"): SplitState(9, {1: f"from {n}"})}) for n in arrival]
    parts = [envelopes] if tasks == 1 else [[each] for each in envelopes]
    messages = [message(plan, part, EPOCH) for part in parts]
    watermarks: dict[int, int] = writer._save_states(messages)
    return watermarks.get(0)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(writing, "worker_job", lambda ref: SimpleNamespace(program=job_of()))
    return SimpleNamespace(
        program_ref=None,
        checkpoint_folder=CheckpointFolder(str(tmp_path)),
        owner=1,
        address=None,
        token=b"",
        generation=Generation(),
    )


@pytest.mark.parametrize("arrival", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("tasks", [1, 3])
def test_states_are_merged_in_the_order_of_senders(
    arrival: tuple[int, ...], tasks: int, plan: Any
) -> None:
    assert committed_watermark(plan, arrival, tasks, StreamSinkWriter(plan)) == 9
    kept = SplitStates(plan.checkpoint_folder.store).load(EPOCH)
    assert kept == {(0, "a"): SplitState(9, {1: "from 2"})}


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_micro_batch_in_which_no_split_moved_changes_nothing(epoch: int, plan: Any) -> None:
    """It has records of a DataFrame alone; the epoch is that of the micro-batch before."""
    before = {(0, "a"): SplitState(5, {1: "kept"})}
    states = SplitStates(plan.checkpoint_folder.store)
    if epoch:
        states.save(1, before)
    nothing = Envelope(2, 0, -1, Kind.SOURCE_STATE, 0, 0, (epoch, {}))
    assert StreamSinkWriter(plan)._save_states([message(plan, [nothing], epoch)]) == (
        {0: 5} if epoch else {}
    )
    assert SplitStates(plan.checkpoint_folder.store).load(epoch) == (before if epoch else {})
    assert states.last == epoch


def test_a_batch_keeps_none(plan: Any) -> None:
    whole: Any = SimpleNamespace(program=SimpleNamespace(batch=True), query=plan)
    assert committed_watermark(plan, (0, 1), 2, BatchSinkWriter(whole, 0)) == 9
    assert SplitStates(plan.checkpoint_folder.store).last == 0


# The log.


class Users(WatermarkGenerator):
    """A generator as a user writes one."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.seen += 1

    def on_periodic_emit(self, output: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Users) and other.seen == self.seen


def states_of(*kept: Any, source: Any = 0, split: str = "a") -> dict[tuple[Any, str], SplitState]:
    return {(source, split): SplitState(7, dict(enumerate(kept)))}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.mark.parametrize("source", [3, "orders"])
@pytest.mark.parametrize("node", [-2, "orders/map"])
def test_states_come_back_as_they_were(source: Any, node: Any, store: MemoryStore) -> None:
    states = {
        (source, "a"): SplitState(-(2**63), {node: ({"0:a": (5, False)}, 5)}),
        (source, "b/c"): SplitState(2**63 - 1, {}),
        ("other", "a"): SplitState(0, {node: (Users(), 4, True, None), 7: b"\0\xff"}),
    }
    SplitStates(store).save(1, states)
    assert SplitStates(store).load(1) == states


def test_before_the_first_epoch_there_are_none(store: MemoryStore) -> None:
    assert SplitStates(store).load(0) == {}


@pytest.mark.parametrize("epoch", [1, 3, 12])
def test_what_is_missing_is_not_empty(epoch: int, store: MemoryStore) -> None:
    states = SplitStates(store)
    states.save(2, {})
    with pytest.raises(CheckpointError, match=f"at the end of epoch {epoch} is missing") as caught:
        states.load(epoch)
    assert caught.value.where["object"].endswith(f"splits/{epoch:012d}")


def test_what_is_damaged_is_reported(store: MemoryStore) -> None:
    SplitStates(store).save(1, states_of(1))
    (name,) = store.list()
    store.put(name, (store.get(name) or b"")[:-1])
    with pytest.raises(CheckpointError, match="is cut short"):
        SplitStates(store).load(1)


def test_a_driver_that_comes_late_overwrites_nothing(store: MemoryStore) -> None:
    first, late = states_of("first"), states_of("late")
    assert SplitStates(store).save(1, first) == first
    assert SplitStates(store).save(1, late) == first
    assert SplitStates(store).load(1) == first


def test_the_last_few_are_kept(store: MemoryStore) -> None:
    for epoch in range(1, 21):
        SplitStates(store).save(epoch, states_of(epoch))
    assert stored_numbers(store, "splits") == list(range(13, 21))


def test_nothing_stored_names_a_class_of_headrace(store: MemoryStore) -> None:
    """Else a class could never move. A user's own is the user's affair."""
    strategies = [
        WatermarkStrategy.for_monotonous_timestamps(),
        WatermarkStrategy.no_watermarks(),
    ]
    kept = []
    for strategy in strategies:
        operator: Any = TimestampsSpec(strategy).build()
        operator.restore(None)
        kept.append(operator.snapshot())
    SplitStates(store).save(1, states_of(*kept))
    (name,) = store.list()
    payload = (store.get(name) or b"").partition(b"\n")[2]
    assert b"pickle" not in payload and b'"highest"' in payload and b"headrace" not in payload
    assert SplitStates(store).load(1) == states_of(*kept)
