"""Who owns a checkpoint, with machines, processes and time of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.common._storage.memory_store import MemoryStore
from headrace.common._storage.object_store import numbered_name, stored_numbers
from headrace.errors import CheckpointError, CheckpointLockedError
from headrace.runners.processes import Machine
from headrace.runners.spark.checkpoint import owners
from headrace.runners.spark.checkpoint.layout import COMMITTING, LEASES, OWNERS
from headrace.runners.spark.checkpoint.owners import (
    EXPIRY_SECONDS,
    Ownership,
    announced_commit,
    latest_owner,
)


@dataclass
class World:
    """A store, a clock that only waiting moves, and machines with their processes."""

    store: MemoryStore = field(default_factory=MemoryStore)
    now: float = 0.0
    processes: dict[str, dict[int, str]] = field(default_factory=dict)
    at_each_look: list[Callable[[], None]] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)

    def machine(self, host: str, pid: int) -> Machine:
        """The machine of a host, as a process sees it that begins now."""
        running = self.processes.setdefault(host, {})
        running.setdefault(pid, f"began {len(running)} {self.now}")
        return Machine(host, f"machine {host}", pid, running.get, lambda: self.now, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for do in self.at_each_look:
            do()

    def kill(self, host: str, pid: int) -> None:
        del self.processes[host][pid]

    def driver(self, host: str, pid: int) -> Ownership:
        return Ownership(self.store, self.store, self.machine(host, pid), self.printed.append)

    def taken(self, host: str, pid: int) -> Ownership:
        driver = self.driver(host, pid)
        driver.acquire(f"run {pid}")
        return driver


@pytest.fixture
def world() -> World:
    return World()


def test_the_first_owner_is_number_one(world: World) -> None:
    assert latest_owner(world.store) is None
    assert world.taken("a", 1).epoch == 1
    owner = latest_owner(world.store)
    assert owner is not None
    assert (owner.epoch, owner.run, str(owner.process)) == (1, "run 1", "process 1 on a")


def test_a_driver_that_runs_here_is_not_replaced(world: World) -> None:
    world.taken("a", 1)
    with pytest.raises(CheckpointLockedError, match="process 1 on a"):
        world.taken("a", 2)
    assert stored_numbers(world.store, OWNERS) == [1] and world.now == 0


def test_a_driver_that_was_killed_here_is_replaced_at_once(world: World) -> None:
    world.taken("a", 1)
    world.kill("a", 1)
    assert world.taken("a", 2).epoch == 2 and world.now == 0


def test_another_process_of_the_same_id_is_another_process(world: World) -> None:
    world.taken("a", 1)
    world.kill("a", 1)
    world.now = 5
    world.machine("a", 1)
    assert world.taken("a", 2).epoch == 2


def test_a_checkpoint_that_was_given_back_is_free(world: World) -> None:
    first = world.taken("a", 1)
    first.record_jvm(1)
    first.release()
    first.release()
    assert world.taken("a", 2).epoch == 2 and world.now == 0


def test_a_checkpoint_that_cannot_be_given_back_ends_no_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job has a result, or an error that says more."""

    def full(name: str, data: bytes) -> None:
        raise CheckpointError("No space left on device")

    driver = world.taken("a", 1)
    monkeypatch.setattr(world.store, "put", full)
    driver.release()
    assert world.printed == ["the checkpoint was not released: No space left on device"]
    monkeypatch.undo()
    world.kill("a", 1)
    assert world.taken("a", 2).epoch == 2


def test_a_driver_elsewhere_is_not_looked_up_here(world: World) -> None:
    """Its process id may be anything's on this machine."""
    world.taken("b", 1)
    world.kill("b", 1)
    world.machine("a", 1)
    assert world.taken("a", 2).epoch == 2
    assert EXPIRY_SECONDS <= world.now < EXPIRY_SECONDS + 2
    assert world.printed == [
        "the last driver of this checkpoint was process 1 on b; waiting up to 10 s to see whether"
        " it is alive"
    ]


def test_a_driver_elsewhere_that_renews_its_lease_is_not_replaced(world: World) -> None:
    first = world.taken("b", 1)
    world.at_each_look.append(lambda: first.renew() if world.now >= 7 else None)
    with pytest.raises(CheckpointLockedError, match="process 1 on b"):
        world.taken("a", 2)
    assert world.now < EXPIRY_SECONDS and stored_numbers(world.store, OWNERS) == [1]


def test_one_that_stands_by_waits_for_the_end_of_a_driver_here(world: World) -> None:
    world.taken("a", 1)
    standby = world.driver("a", 2)
    world.at_each_look.append(lambda: world.processes["a"].pop(1, None) if world.now > 3 else None)
    standby.acquire("run 2", waits=True)
    assert standby.epoch == 2 and 3 < world.now < 5
    assert world.printed == [
        "another driver is running on this checkpoint: waiting for its end (process 1 on a)"
    ]


def test_one_that_stands_by_takes_over_when_a_driver_elsewhere_is_silent(world: World) -> None:
    first = world.taken("b", 1)
    world.at_each_look.append(lambda: first.renew() if world.now < 40 else None)
    standby = world.driver("a", 2)
    standby.acquire("run 2", waits=True)
    assert standby.epoch == 2
    assert 40 < world.now < 40 + EXPIRY_SECONDS + 3


def test_a_driver_elsewhere_that_gives_back_meanwhile_is_replaced(world: World) -> None:
    first = world.taken("b", 1)
    world.at_each_look.append(first.release)
    assert world.taken("a", 2).epoch == 2 and world.now < 3


def test_a_driver_that_died_before_its_first_lease_is_replaced(world: World) -> None:
    world.taken("b", 1)
    world.store.delete(numbered_name(LEASES, 1))
    assert world.taken("a", 2).epoch == 2


def test_of_two_that_find_it_free_one_gets_it(world: World) -> None:
    first = world.taken("b", 1)
    other = world.driver("c", 9)
    done: list[int] = []

    def meanwhile() -> None:
        if not done:
            done.append(1)
            first.release()
            other.acquire("run 9")

    world.at_each_look.append(meanwhile)
    world.at_each_look.append(other.renew)
    with pytest.raises(CheckpointLockedError, match="process 9 on c"):
        world.taken("a", 2)
    assert other.epoch == 2


def test_a_driver_that_was_replaced_cannot_commit(world: World) -> None:
    world.taken("b", 1)
    committed = []

    def commit(epoch: int, host: str, pid: int) -> None:
        with announced_commit(world.store, world.store, epoch, world.machine(host, pid)):
            committed.append(epoch)

    commit(1, "b", 5)
    world.taken("a", 2)
    with pytest.raises(CheckpointLockedError, match="another driver has taken over") as caught:
        commit(1, "b", 5)
    assert caught.value.where["driver"] == "process 2 on a, owner 2"
    commit(2, "a", 6)
    assert committed == [1, 2] and stored_numbers(world.store, COMMITTING) == []


def test_an_earlier_run_of_the_same_driver_cannot_commit(world: World) -> None:
    driver = world.taken("a", 1)
    driver.acquire_next("run 1-1")
    assert driver.epoch == 2
    with (
        pytest.raises(CheckpointLockedError),
        announced_commit(world.store, world.store, 1, world.machine("a", 5)),
    ):
        raise AssertionError("it was let in")


def test_a_driver_that_was_replaced_cannot_begin_again(world: World) -> None:
    first = world.taken("b", 1)
    world.taken("a", 2)
    with pytest.raises(CheckpointLockedError, match="another driver has taken over"):
        first.acquire_next("run 1-1")


@pytest.mark.parametrize("left", [0, 2])
def test_a_checkpoint_that_was_deleted_or_replaced_is_not_another_driver(
    world: World, left: int
) -> None:
    """``left``: the highest owner in an older copy that was put in its place."""
    driver = world.taken("a", 1)
    for _ in range(2):
        driver.acquire_next("again")
    for name in world.store.list():
        if not left or not name.startswith(OWNERS) or name > numbered_name(OWNERS, left):
            world.store.delete(name)
    with (
        pytest.raises(CheckpointError, match="was deleted, or replaced") as caught,
        announced_commit(world.store, world.store, driver.epoch, world.machine("a", 5)),
    ):
        raise AssertionError("it was let in")
    assert not isinstance(caught.value, CheckpointLockedError)
    assert caught.value.where["found"] == (f"owner {left}" if left else "no owner")
    assert "writes all results again" in (caught.value.hint or "")
    with pytest.raises(CheckpointError, match="was deleted, or replaced"):
        driver.acquire_next("run 1-1")


def test_a_commit_that_still_goes_on_is_waited_for(world: World) -> None:
    """Whoever comes first: a commit that has looked ends before its successor plans anything."""
    world.taken("a", 1)
    with announced_commit(world.store, world.store, 1, world.machine("a", 5)):
        world.kill("a", 1)
        ended: list[float] = []

        def end() -> None:
            if world.now >= 3 and not ended:
                ended.append(world.now)
                world.store.delete(numbered_name(COMMITTING, 1))

        world.at_each_look.append(end)
        second = world.taken("a", 2)
        assert second.epoch == 2 and ended and world.now >= 3


def test_a_commit_that_died_is_not_waited_for(world: World) -> None:
    world.taken("a", 1)
    with announced_commit(world.store, world.store, 1, world.machine("a", 5)):
        world.kill("a", 5)
        world.kill("a", 1)
        world.taken("a", 2)
        assert world.now == 0 and stored_numbers(world.store, COMMITTING) == []


def test_a_commit_that_never_ends_is_reported(world: World) -> None:
    world.taken("a", 1)
    with announced_commit(world.store, world.store, 1, world.machine("a", 5)):
        world.kill("a", 1)
        with pytest.raises(CheckpointLockedError, match="an earlier driver is still committing"):
            world.taken("a", 2)


def test_the_jvm_of_a_killed_driver_is_waited_for(world: World) -> None:
    first = world.taken("a", 1)
    world.machine("a", 77)
    first.record_jvm(77)
    world.kill("a", 1)
    world.at_each_look.append(
        lambda: world.kill("a", 77) if world.now > 2 and 77 in world.processes["a"] else None
    )
    assert world.taken("a", 2).epoch == 2
    assert 2 < world.now < 3


def test_the_jvm_is_known_from_the_first_moment_of_another_run(world: World) -> None:
    first = world.taken("a", 1)
    world.machine("a", 77)
    first.record_jvm(77)
    first.acquire_next("run 1-1")
    world.store.delete(numbered_name(LEASES, 2))  # it died before it wrote one
    world.kill("a", 1)
    with pytest.raises(CheckpointLockedError, match="process 77 on a"):
        world.taken("a", 2)


def test_a_jvm_that_does_not_end_is_reported(world: World) -> None:
    first = world.taken("a", 1)
    world.machine("a", 77)
    first.record_jvm(77)
    world.kill("a", 1)
    with pytest.raises(CheckpointLockedError, match="Spark's JVM of an earlier driver") as caught:
        world.taken("a", 2)
    assert caught.value.where["driver"] == "process 77 on a"


class Crash(BaseException):
    """The process is gone."""


class DyingStore(MemoryStore):
    """Somebody's store up to one change of it, and no further."""

    def __init__(self, inner: MemoryStore, changes: int, done: bool) -> None:
        super().__init__()
        self._objects, self._left, self._done = inner._objects, changes, done

    def _die(self, change: Callable[[], Any]) -> Any:
        self._left -= 1
        if self._left == 0 and self._done:
            change()
        if self._left <= 0:
            raise Crash
        return change()

    def put(self, name: str, data: bytes) -> None:
        self._die(lambda: MemoryStore.put(self, name, data))

    def put_if_absent(self, name: str, data: bytes) -> bool:
        return bool(self._die(lambda: MemoryStore.put_if_absent(self, name, data)))

    def delete(self, name: str) -> None:
        self._die(lambda: MemoryStore.delete(self, name))


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("changes", range(1, 9))
def test_wherever_a_driver_dies_the_next_one_begins(changes: int, done: bool) -> None:
    """In taking the checkpoint, in renewing, within a commit, in giving it back."""
    world = World()
    store = DyingStore(world.store, changes, done)
    dying = Ownership(store, store, world.machine("a", 1))
    with pytest.raises(Crash):
        dying.acquire("run 1")
        dying.record_jvm(None)
        with announced_commit(store, store, dying.epoch, world.machine("a", 1)):
            dying.renew()
        dying.acquire_next("run 1-1")
        dying.release()
        raise AssertionError("all of it was done")
    world.kill("a", 1)
    after = world.taken("a", 2)
    assert world.now == 0 and after.epoch == max(stored_numbers(world.store, OWNERS))
    with announced_commit(world.store, world.store, after.epoch, world.machine("a", 2)):
        pass


def test_the_last_few_owners_are_kept(world: World) -> None:
    driver = world.taken("a", 1)
    for _ in range(9):
        driver.acquire_next("again")
    assert (
        stored_numbers(world.store, OWNERS) == stored_numbers(world.store, LEASES) == [7, 8, 9, 10]
    )


@pytest.mark.parametrize("folder", [OWNERS, LEASES])
def test_a_damaged_object_is_reported_with_what_to_do(folder: str, world: World) -> None:
    world.taken("a", 1)
    name = numbered_name(folder, 1)
    world.store.put(name, (world.store.get(name) or b"")[:-3])
    with pytest.raises(CheckpointError, match="is cut short") as caught:
        world.taken("a", 2)
    assert caught.value.where == {"object": f"memory:{name}"}
    assert "delete this object" in str(caught.value.hint)


def test_a_lease_is_renewed_until_it_is_given_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "RENEWAL_SECONDS", 0.0)
    driver = world.taken("a", 1)
    before = world.store.get(numbered_name(LEASES, 1))
    beaten = driver._lease.beat
    driver.keep_renewing()
    while driver._lease.beat < beaten + 3:
        pass
    driver.release()
    released = world.store.get(numbered_name(LEASES, 1))
    driver.renew()
    assert before != released == world.store.get(numbered_name(LEASES, 1))
