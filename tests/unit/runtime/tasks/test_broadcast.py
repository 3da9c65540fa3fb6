"""What a task gets by broadcast: one order for all its groups, and nothing shared by mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from headrace.errors import UnstableKeyError
from headrace.runtime.state.broadcast_state import BroadcastStateStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.tasks.broadcast import BroadcastInput
from headrace.testing import run_pipeline
from tests.operators.connecting import broadcast
from tests.unit.runtime.programs import block


@pytest.mark.parametrize("timed", [False, True])
def test_a_batch_of_many_records_is_one_run(timed: bool) -> None:
    """Changes are recorded by where a run begins, so two runs must not begin alike."""
    stamps = [*range(700)] if timed else None
    blocks = [block(*range(700), stamps=stamps) for _ in range(3)]
    (run,) = BroadcastInput(HeapBackend(), blocks, [0, 1, 2]).batch_runs()
    assert (run.start, len(run.values)) == (0, 2_100)
    assert sorted(run.values) == sorted([*range(700)] * 3)


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_subtasks_get_records_of_their_own(mode: Any) -> None:
    def counted_up(value: dict[str, int]) -> dict[str, int]:
        value["n"] += 1
        return value

    def program(env: Any) -> Any:
        return broadcast(env.from_collection([{"n": 0}, {"n": 10}])).map(counted_up)

    found = [value["n"] for value in run_pipeline(program, mode, parallelism=3, key_groups=2).only]
    assert sorted(found) == [1, 1, 1, 11, 11, 11]


@dataclass
class Mine:
    """Equal by its field, and with a hash of its own."""

    number: int

    def __hash__(self) -> int:
        return 1


def test_a_key_without_a_stable_hash_is_refused_where_it_is_put() -> None:
    shared = BroadcastStateStore()
    shared.writable = True
    with pytest.raises(UnstableKeyError):
        shared.map("rules").put(Mine(1), "x")
    assert shared.take_changes() == ()
