"""The operator in a task: order, capacity, watermarks, failures, and what stays open."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections import Counter
from typing import Any, ClassVar

import pytest

from headrace.common import Configuration, Duration, Time, WatermarkStrategy
from headrace.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    LookupCache,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.async_retry_predicates import has_exception_predicate
from headrace.errors import PlanError, TypeMismatchError
from headrace.operators.asynchronous.loop import event_loop
from headrace.runtime.block import Block, Mark
from headrace.runtime.channel import Channel
from headrace.testing import KeyedHarness, ProcessHarness, run_pipeline

SOON = Time.seconds(30)


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(Configuration())


async def later_first(value: int) -> int:
    """The first records take the longest."""
    await asyncio.sleep((9 - value) / 1000)
    return value


class InTurn(AsyncFunction[int, int]):
    """Completes records from the last to the first, once all of them are there."""

    def __init__(self, count: int) -> None:
        self._count = count

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        self._come: list[int] = []
        self._turn = asyncio.Condition()

    async def async_invoke(self, value: int) -> list[int]:
        async with self._turn:
            self._come.append(value)
            self._turn.notify_all()
            await self._turn.wait_for(
                lambda: len(self._come) == self._count and self._come[-1] == value
            )
            self._count -= 1
            self._come.pop()
            self._turn.notify_all()
        return [value]


def test_results_in_order_and_as_they_come() -> None:
    for wait, expected in (
        (AsyncDataStream.ordered_wait, [0, 1, 2, 3, 4]),
        (AsyncDataStream.unordered_wait, [4, 3, 2, 1, 0]),
    ):
        stream = environment().from_collection(list(range(5)))
        assert run_pipeline(wait(stream, InTurn(5), SOON)).only == expected


class Crowd(AsyncFunction[int, int]):
    """Counts how many calls there are at once."""

    most: ClassVar[int] = 0

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        self._here = 0

    async def async_invoke(self, value: int) -> list[int]:
        self._here += 1
        Crowd.most = max(Crowd.most, self._here)
        await asyncio.sleep(0.001)
        self._here -= 1
        return [value]


@pytest.mark.parametrize("cache", [None, LookupCache()], ids=["plain", "cached"])
@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
def test_no_more_than_the_capacity_are_worked_on_at_once(
    wait: Any, cache: LookupCache | None
) -> None:
    Crowd.most = 0
    stream = environment().from_collection(list(range(25)))
    results = run_pipeline(wait(stream, Crowd(), SOON, 7, cache=cache))
    assert sorted(results.only) == [*range(25)]
    assert Crowd.most == 7


def test_a_plain_function_gives_one_result_and_an_object_a_list() -> None:
    class Twice(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return [value] * (value % 3)

    stream = environment().from_collection([1, 2, 3])
    twice = AsyncDataStream.ordered_wait(stream, Twice(), SOON)
    assert run_pipeline(twice).only == [1, 2, 2]

    async def listed(value: int) -> list[int] | None:
        return [value] if value > 1 else None

    stream = environment().from_collection([1, 2])
    assert run_pipeline(AsyncDataStream.ordered_wait(stream, listed, SOON)).only == [None, [2]]


class WithTime(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
def test_results_keep_their_time_and_stay_between_watermarks(wait: Any) -> None:
    env = StreamExecutionEnvironment(
        Configuration.from_dict({"headrace.watermark.chunk-records": "2"})
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value: value * 10
    )
    stream = env.from_collection(list(range(1, 9))).assign_timestamps_and_watermarks(strategy)
    seen = run_pipeline(wait(stream, later_first, SOON).process(WithTime()), cuts=[2, 3, 3]).only
    assert sorted(value for value, _, _ in seen) == [*range(1, 9)]
    for value, timestamp, watermark in seen:
        assert timestamp == value * 10 > watermark
    plain = [each[2] for each in run_pipeline(stream.process(WithTime()), cuts=[2, 3, 3]).only]
    assert sorted(each[2] for each in seen) == sorted(plain)


def test_watermarks_after_the_operator_see_all_results_of_a_micro_batch() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value: value
    )
    stream = environment().from_collection([1, 5, 7, 9])
    timed = AsyncDataStream.ordered_wait(
        stream, later_first, SOON
    ).assign_timestamps_and_watermarks(strategy)
    seen = run_pipeline(timed.process(WithTime()), cuts=[2, 2]).only
    assert [watermark for _, _, watermark in seen][2:] == [4, 4]


class Client(AsyncFunction[Any, Any]):
    """Has a client of the loop, made when first used, and notes where it was used."""

    seen: ClassVar[set[Any]] = set()

    def open(self, runtime_context: Any) -> None:
        self.thread = threading.current_thread()
        self.loop: Any = None

    async def async_invoke(self, value: Any) -> list[Any]:
        assert threading.current_thread() is not self.thread
        self.loop = self.loop or asyncio.get_running_loop()
        assert self.loop is asyncio.get_running_loop() is event_loop()
        Client.seen.add(id(self))
        return [value]

    def timeout(self, value: Any) -> list[Any]:
        raise AssertionError("in time")

    async def close(self) -> None:  # type: ignore[override]
        assert asyncio.get_running_loop() is self.loop
        Client.seen.add("closed")


def test_a_client_stays_on_its_loop_over_micro_batches_and_is_closed_there() -> None:
    Client.seen = set()
    stream = environment().from_collection(list(range(6)))
    waiting = AsyncDataStream.unordered_wait(stream, Client(), SOON)
    assert sorted(run_pipeline(waiting, cuts=[1, 2, 3]).only) == [*range(6)]
    assert len(Client.seen) == 2 and "closed" in Client.seen


def test_a_slow_call_gets_the_results_of_timeout() -> None:
    class Slow(AsyncFunction[int, Any]):
        async def async_invoke(self, value: int) -> list[Any]:
            await asyncio.sleep(60 if value == 2 else 0)
            return [value]

        def timeout(self, value: int) -> list[Any]:
            return ["late", value]

    stream = environment().from_collection([1, 2, 3])
    waiting = AsyncDataStream.ordered_wait(stream, Slow(), Time.milliseconds(500))
    assert run_pipeline(waiting).only == [1, "late", 2, 3]


class Plain(AsyncFunction[Any, Any]):
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def async_invoke(self, value: Any) -> Any:
        return self._answer


@pytest.mark.parametrize("answer", [None, 5])
def test_what_is_no_list_of_results_is_refused(answer: Any) -> None:
    stream = environment().from_collection([1])
    with pytest.raises(TypeMismatchError, match=f"Plain returned {answer}") as raised:
        run_pipeline(AsyncDataStream.ordered_wait(stream, Plain(answer), SOON))
    assert "record:   1" in raised.value.__notes__[0]


class Fails(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0.001 if value == 3 else 60)
        return [1 // (value - 3)]


async def others_at_work() -> int:
    """How many tasks the loop has beside this one, once those that were ended are gone."""
    for _ in range(3):
        await asyncio.sleep(0)
    return len(asyncio.all_tasks()) - 1


@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
def test_a_failure_comes_at_once_with_its_own_record_and_frames(wait: Any) -> None:
    stream = environment().from_collection([1, 2, 3, 4])
    waiting = wait(stream, Fails(), SOON).name("lookup").uid("u")
    with pytest.raises(ZeroDivisionError) as raised:
        run_pipeline(waiting)
    (note,) = raised.value.__notes__
    assert "operator: lookup (uid=u), built at " in note and "record:   3" in note
    assert "in async_invoke" in "".join(traceback.format_tb(raised.value.__traceback__))
    assert asyncio.run_coroutine_threadsafe(others_at_work(), event_loop()).result(30) == 0


def test_no_answer_in_time_fails_the_job() -> None:
    async def never(value: int) -> int:
        await asyncio.sleep(60)
        return value

    stream = environment().from_collection([1])
    with pytest.raises(TimeoutError, match="never gave no result within 3 ms"):
        run_pipeline(AsyncDataStream.unordered_wait(stream, never, Duration.of_millis(3)))
    with pytest.raises(TimeoutError, match="no result came in time for 1"):
        run_pipeline(AsyncDataStream.unordered_wait(stream, Fails(), Duration.of_millis(3)))


def test_a_record_that_is_changed_after_it_was_emitted_waits_as_it_was() -> None:
    def growing(value: int) -> Any:
        grown: list[int] = []
        for number in range(value):
            grown.append(number)
            yield grown

    async def same(value: list[int]) -> list[int]:
        await asyncio.sleep(0)
        return value

    stream = environment().from_collection([3]).flat_map(growing)
    found = run_pipeline(AsyncDataStream.ordered_wait(stream, same, SOON)).only
    assert found == [[0], [0, 1], [0, 1, 2]]


def test_two_in_a_row_and_one_after_a_keyed_operator() -> None:
    async def more(pair: Any) -> Any:
        await asyncio.sleep(0)
        return pair[0], pair[1] + 1

    def once(stream: DataStream) -> DataStream:
        return AsyncDataStream.unordered_wait(stream, more, SOON, capacity=2)

    stream = environment().from_collection([(n % 3, n) for n in range(12)])
    summed = once(once(stream)).key_by(lambda pair: pair[0]).sum(1)
    for mode in ("streaming", "batch"):
        found = Counter(run_pipeline(once(summed), mode, key_groups=4).only)
        sums = [
            (n % 3, sum(m + 2 for m in range(n % 3, n + 1, 3)) + 1)
            for n in (range(12) if mode == "streaming" else (9, 10, 11))
        ]
        assert found == Counter(sums)


def test_on_a_keyed_stream_the_function_gets_the_records() -> None:
    stream = environment().from_collection([("a", 1), ("b", 2)]).key_by(lambda pair: pair[0])
    assert run_pipeline(AsyncDataStream.ordered_wait(stream, later, SOON)).only == [
        ("a", 1),
        ("b", 2),
    ]


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def test_retries_make_a_flaky_service_reliable() -> None:
    asked: Counter[int] = Counter()

    async def flaky(value: int) -> int:
        asked[value] += 1
        if asked[value] <= value % 3:
            raise OSError("busy")
        return value

    stream = environment().from_collection(list(range(9)))
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, None, has_exception_predicate)
    waiting = AsyncDataStream.ordered_wait_with_retry(stream, flaky, SOON, strategy)
    assert run_pipeline(waiting).only == [*range(9)]
    assert asked == Counter({n: n % 3 + 1 for n in range(9)})


def test_a_cache_asks_once_for_each_key_and_is_counted() -> None:
    asked: list[str] = []

    async def city(name: str) -> str:
        asked.append(name)
        await asyncio.sleep(0.001)
        return f"city of {name}"

    records = [{"n": n, "who": "ab"[n % 2]} for n in range(10)]
    cache = LookupCache(
        key=lambda record: record["who"],
        join=lambda record, found: [(record["n"], *found)],
        max_rows=10,
    )
    stream = environment().from_collection(records)
    waiting = AsyncDataStream.ordered_wait(stream, city, SOON, cache=cache).name("city")
    results = run_pipeline(waiting, cuts=[4, 6])
    assert results.only == [(n, f"city of {'ab'[n % 2]}") for n in range(10)]
    assert sorted(asked) == ["a", "b"]
    counted = {name: n for name, n in results.counters.items() if ".cache." in name}
    # Those of the first micro-batch missed if they came before the first answer.
    hits, misses = counted.pop("city.cache.hitCount"), counted.pop("city.cache.missCount")
    assert hits + misses == 10 and 2 <= misses <= 4
    assert counted == {
        "city.cache.loadCount": 2,
        "city.cache.numLoadFailures": 0,
        "city.cache.numCachedRecords": 2,
    }


@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
def test_what_is_in_the_cache_is_emitted_at_once(wait: Any) -> None:
    async def city(name: str) -> str:
        return f"city of {name}"

    async def no_loop() -> None:
        released.wait(30)

    released = threading.Event()
    waits = wait(environment().from_collection([1]), city, SOON, cache=LookupCache())
    with ProcessHarness(waits._configurable_operator.spec) as harness:
        harness.process("a")
        busy = asyncio.run_coroutine_threadsafe(no_loop(), event_loop())
        try:
            harness.process("a")
            assert harness.output() == ["city of a"] * 2
        finally:
            released.set()
            busy.result()


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (AsyncDataStream.ordered_wait, ["a", "b", "a", "a"]),
        (AsyncDataStream.unordered_wait, ["a", "a", "b", "a"]),
    ],
)
def test_what_is_in_the_cache_overtakes_no_watermark(wait: Any, expected: list[str]) -> None:
    """A record that waits holds back the watermark after it, and all after that."""

    class AfterThat(AsyncFunction[str, str]):
        async def async_invoke(self, value: str) -> list[str]:
            if value == "b":
                await asyncio.sleep(0.02)
            return [value]

    waits = wait(environment().from_collection([1]), AfterThat(), SOON, cache=LookupCache())
    with ProcessHarness(waits._configurable_operator.spec) as harness:
        channel = Channel("input 0")
        harness.process("a")
        values, marks = ["b", "a", "a"], [Mark(2, channel, 7)]
        block = Block(None, values, [1, 2, 9], False, marks, None, 0, input=0)
        harness._advance(block._replace(channel_starts=((0, channel),)))
        assert harness.output() == expected


def test_a_key_is_made_once_for_each_record_and_failures_name_it() -> None:
    made: list[int] = []

    def key(value: int) -> Any:
        made.append(value)
        return [value] if value == 3 else value % 2

    async def answer(value: int) -> int:
        return value

    stream = environment().from_collection([1, 2, 1, 2])
    cache = LookupCache(key=key)
    assert run_pipeline(AsyncDataStream.ordered_wait(stream, answer, SOON, cache=cache)).only == [
        *(1, 0, 1, 0)
    ]
    assert made == [1, 2, 1, 2]
    stream = environment().from_collection([3])
    with pytest.raises(TypeError, match="unhashable") as raised:
        run_pipeline(AsyncDataStream.ordered_wait(stream, answer, SOON, cache=cache))
    assert "record:   3" in raised.value.__notes__[0]


def test_state_of_a_failed_task_run_is_dropped() -> None:
    """The next run of a task in the same process begins with nothing that the failed one asked."""

    class Once(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            if value == 13:
                raise OSError("down")
            await asyncio.sleep(0)
            return [value]

    with ProcessHarness(Once()) as harness:
        harness.process(1)
        with pytest.raises(OSError, match="down"):
            harness.process(13)
        harness.process(2)
        assert harness.output() == [1, 2]
    with pytest.raises(PlanError, match="does not use keys"):
        KeyedHarness(Once(), lambda value: value)


def test_watermarks_of_a_failed_task_run_are_dropped() -> None:
    """What fails while results are emitted leaves watermarks that stood after them."""

    class Bare(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> Any:
            return value if value == 13 else [value]

    waits = AsyncDataStream.unordered_wait(environment().from_collection([1]), Bare(), SOON)
    node = waits._configurable_operator
    assert node is not None and node.spec is not None
    with ProcessHarness(node.spec) as harness:
        channel = Channel("input 0")
        block = Block(None, [13], [0], False, [Mark(1, channel, 7)], None, 0, input=0)
        block = block._replace(channel_starts=((0, channel),))
        with pytest.raises(TypeMismatchError):
            harness._advance(block)
        harness.process(2)
        assert harness.output() == [2]


def test_exactly_one_result_for_each_record_over_restarts() -> None:
    stream = environment().from_collection([(n % 4, n) for n in range(20)])
    looked_up = AsyncDataStream.unordered_wait(stream, later, SOON, 3)
    summed = looked_up.key_by(lambda pair: pair[0]).sum(1)
    again = AsyncDataStream.ordered_wait(summed, later, SOON, 3)
    for restarts in (True, "savepoint"):
        found = run_pipeline(
            again, cuts=[3, 9, 1], backends="paged", restarts=restarts, key_groups=3
        )
        assert Counter(found.only) == Counter(
            (n % 4, sum(range(n % 4, n + 1, 4))) for n in range(20)
        )
