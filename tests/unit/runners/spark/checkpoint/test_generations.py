"""Generations of Spark's folder, through crashes at every step of the way from one to the next."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pytest

from headrace.common._storage.plain_json import from_json, to_json
from headrace.runners.spark.checkpoint.generations import Generation, Origin, QueryLog, Stages
from headrace.runtime.coordination.offset import Offset, WorkLimits

JsonOffset = dict[str, Any]

SHALLOW: Stages = (("sum",),)
DEEP: Stages = (("map",), ("sum",))
STEPS = 9  # of one run: past the second micro-batch of a generation


def offset(epoch: int, now_ms: int = 0) -> JsonOffset:
    return Offset(epoch, now_ms, now_ms, WorkLimits(1, 1), {}).to_json()


@dataclass
class Folder:
    """What Spark keeps: ends of the planned micro-batches, and state by committed ones."""

    planned: list[JsonOffset] = field(default_factory=list)
    states: list[JsonOffset] = field(default_factory=list)

    @property
    def log(self) -> QueryLog:
        last = len(self.states) - 1
        planned = self.planned[-1] if len(self.planned) > len(self.states) else None
        return QueryLog(last, self.planned[last] if last >= 0 else None, planned)


@dataclass
class World:
    """What outlives a crash. State is simulated by the offset up to which it has seen records."""

    generation: Generation = field(default_factory=Generation)
    stages: Stages = SHALLOW
    folders: dict[int, Folder] = field(default_factory=lambda: {0: Folder()})
    published: dict[int, tuple[JsonOffset, JsonOffset]] = field(default_factory=dict)
    begun: bool = False
    clock: int = 0

    def run(self, stages: Stages, quiet: bool) -> Iterator[None]:
        """Run a program; it yields where a driver may die."""
        folder = self.folders.get(self.generation.number, Folder())
        generation = self.generation.without_origin_if(bool(folder.states))
        if stages != self.stages:
            if not self.begun:  # as Checkpoint.open: nothing was promised
                generation, self.folders = Generation(), {}
            else:
                generation = generation.next_generation(folder.log, self.stages)
        self.generation, self.stages = generation, stages  # one object, written whole
        last = max(self.published, default=-1)
        done, planned = generation.last_batches(self.folders.get(generation.number, Folder()).log)
        assert last <= planned <= done + 1, "a sink would be taken for ahead of its checkpoint"
        yield
        for number in [n for n in self.folders if n not in generation.needed]:
            del self.folders[number]
            yield
        folder = self.folders.setdefault(generation.number, Folder())
        while True:
            yield from self._micro_batch(folder, quiet)

    def _micro_batch(self, folder: Folder, quiet: bool) -> Iterator[None]:
        batch, origin = len(folder.states), self.generation.origin
        start, state = self._start(batch, folder, origin)
        if len(folder.planned) == batch:
            folder.planned.append(self._end(start, origin, quiet and batch == 0))
            yield
        end = folder.planned[batch]
        self.begun = True
        number = self.generation.first_batch + batch
        found = self.published.setdefault(number, (start, end))
        assert found == (start, end), "a sink takes other records for a repetition"
        yield
        assert state == start, "the state has not seen what was read"
        folder.states.append(end)
        yield

    def _start(
        self, batch: int, folder: Folder, origin: Origin | None
    ) -> tuple[JsonOffset, JsonOffset]:
        if batch:
            return folder.planned[batch - 1], folder.states[batch - 1]
        if origin is None:
            return offset(0), offset(0)
        state = offset(0) if origin.batch < 0 else self.folders[origin.number].states[origin.batch]
        assert origin.start["epoch"] or state == offset(0)
        # The first offset of all is not logged: only its time is made up.
        return (dict(origin.start) if origin.start["epoch"] else offset(0)), state

    def _end(self, start: JsonOffset, origin: Origin | None, quiet: bool) -> JsonOffset:
        planned = None if origin is None else origin.planned
        if planned is not None and planned["epoch"] == start["epoch"] + 1:
            return dict(planned)
        if quiet and origin is not None and origin.batch >= 0:
            return start  # Spark fills the state without new records
        self.clock += 1
        return offset(start["epoch"] + 1, self.clock)


@pytest.mark.parametrize(
    "quiet",
    [(False, False, False), (False, True, False), (True, False, True), (True, True, True)],
)
def test_a_crash_anywhere_loses_nothing(quiet: tuple[bool, ...]) -> None:
    """Four runs, of either shape, each cut after any step: one chain of micro-batches comes out."""
    shapes = list(itertools.product((SHALLOW, DEEP), repeat=2))
    for cuts in itertools.product(range(1, STEPS), repeat=3):
        for second, third in shapes:
            world = World()
            for stages, cut, still in zip((SHALLOW, second, third), cuts, quiet, strict=True):
                for _ in itertools.islice(world.run(stages, still), cut):
                    pass
            for _ in itertools.islice(world.run(SHALLOW, False), 12):
                pass
            _assert_whole(world)


def _assert_whole(world: World) -> None:
    ranges = [world.published[number] for number in sorted(world.published)]
    assert ranges[0][0]["epoch"] == 0
    for (_, end), (start, _) in itertools.pairwise(ranges):
        assert start == end
    assert len(ranges) >= 3 and set(world.folders) == world.generation.needed


def test_a_generation_that_was_not_filled_is_left_out() -> None:
    first = Generation().next_generation(QueryLog(4, offset(5)), SHALLOW)
    second = first.next_generation(QueryLog(), DEEP)
    assert first.origin == Origin(0, 4, SHALLOW, offset(5))
    assert (second.number, second.first_batch, second.origin) == (2, 5, first.origin)
    assert second.needed == {0, 2}
    assert second.without_origin_if(False) == second and second.without_origin_if(True).needed == {
        2
    }


def test_a_planned_micro_batch_keeps_its_end_and_number_through_all_generations() -> None:
    first = Generation(1, 7).next_generation(QueryLog(2, offset(3), offset(4, 9)), SHALLOW)
    assert first.origin is not None
    assert (first.first_batch, first.origin.planned) == (10, offset(4, 9))
    again = first.next_generation(QueryLog(), DEEP)
    assert again == replace(first, number=3)
    planned_there = Generation(2, 10, replace(first.origin, planned=None))
    found = planned_there.next_generation(QueryLog(-1, None, offset(4, 9)), DEEP)
    assert found == again


def test_a_micro_batch_without_records_gives_its_number_up() -> None:
    first = Generation().next_generation(QueryLog(4, offset(5)), SHALLOW)
    second = first.next_generation(QueryLog(-1, None, offset(5)), DEEP)
    assert second.origin is not None
    assert (second.first_batch, second.origin.planned) == (6, None)


def test_nothing_committed_means_no_state_and_the_offset_before_the_first() -> None:
    found = Generation().next_generation(QueryLog(-1, None, offset(1, 77)), SHALLOW)
    assert found.first_batch == 0
    assert found.origin == Origin(0, -1, SHALLOW, offset(0, 77), offset(1, 77))


def test_no_sink_has_a_later_micro_batch_than_the_last_planned_one() -> None:
    moved = Generation(1, 7, Origin(0, 6, SHALLOW, offset(7)))
    to_repeat = replace(moved, origin=Origin(0, 6, SHALLOW, offset(7), offset(8)))
    assert Generation().last_batches(QueryLog()) == (-1, -1)
    assert Generation().last_batches(QueryLog(-1, None, offset(1))) == (-1, 0)
    assert Generation().last_batches(QueryLog(32, offset(33))) == (32, 32)
    assert Generation(2, 7).last_batches(QueryLog(2, offset(3), offset(4))) == (9, 10)
    assert moved.last_batches(QueryLog()) == (6, 6)
    assert to_repeat.last_batches(QueryLog()) == (6, 7)
    assert to_repeat.last_batches(QueryLog(-1, None, offset(8))) == (6, 7)
    assert to_repeat.last_batches(QueryLog(0, offset(8))) == (7, 7)


def test_a_generation_is_plain_data() -> None:
    filled = Generation(2, 10, Origin(1, 3, DEEP, offset(3), offset(4)))
    for generation in (Generation(), filled):
        assert Generation.from_json(from_json(to_json(asdict(generation)))) == generation
