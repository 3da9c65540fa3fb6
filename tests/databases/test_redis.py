"""The connectors of Redis against a real one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Time
from headrace.connector import Sink, WorkerResources, WriterContext
from headrace.datastream import AsyncDataStream, LookupCache, StreamExecutionEnvironment
from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.datastream.connectors.redis import RedisCommand, RedisLookup, RedisSink
from headrace.errors import JobError
from headrace.testing import run_pipeline
from headrace.testing._contracts import SinkContract
from tests.servers import serving

pytestmark = pytest.mark.spark


def entry(value: Any) -> list[RedisCommand]:
    """Two commands that count twice what is sent twice."""
    return [RedisCommand.xadd("log", {"value": value}), RedisCommand.hincrby("counts", value)]


def context(batch: int, worker: WorkerResources, partition: int = 0) -> WriterContext:
    return WriterContext("sink", "job", batch, partition, "a", 1, worker)


def write(sink: Sink, values: Sequence[Any], batch: int, worker: WorkerResources) -> None:
    writer = sink.writer(context(batch, worker))
    writer.write(values, [None] * len(values))
    writer.prepare_commit()


@pytest.fixture
def worker() -> Iterator[WorkerResources]:
    made = WorkerResources()
    yield made
    made.close()


class TestSink(SinkContract):
    @pytest.fixture(autouse=True)
    def client(self, redis: Any) -> None:
        self.redis = redis

    def make_sink(self, folder: Path) -> Sink:
        return RedisSink(self.redis.url, entry)

    def values(self, count: int) -> list[Any]:
        return [f"record {index}" for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        entries = [fields["value"] for _, fields in self.redis.xrange("log")]
        counted = {value: int(count) for value, count in self.redis.hgetall("counts").items()}
        assert counted == Counter(entries)
        return entries


def test_each_command_does_what_it_says(redis: Any, worker: WorkerResources) -> None:
    of_record = {
        "set": RedisCommand.set("a", "1"),
        "expires": RedisCommand.set(b"b", 2, expires=timedelta(minutes=1)),
        "hset": RedisCommand.hset("h", {"x": 1.5, "y": b"\xff"}),
        "hincrby": RedisCommand.hincrby("h", "n", 7),
        "zadd": RedisCommand.zadd("z", {"one": 1, "two": 2.5}),
        "xadd": [RedisCommand.xadd("s", {"n": n}, max_length=1000) for n in range(3)],
        "other": RedisCommand("SADD", "members", 1, 2),
        "nothing": None,
    }
    write(RedisSink(redis.url, of_record.get), [*of_record], 0, worker)
    assert (redis.get("a"), redis.get("b")) == ("1", "2")
    assert 0 < redis.pttl("b") <= 60_000
    assert redis.hmget("h", "x", "n") == ["1.5", "7"]
    assert redis.zrange("z", 0, -1, withscores=True) == [("one", 1.0), ("two", 2.5)]
    assert [fields for _, fields in redis.xrange("s")] == [{"n": str(n)} for n in range(3)]
    assert redis.smembers("members") == {"1", "2"}


@pytest.mark.capability("Redis and PostgreSQL as sinks, exactly once", runners="local")
@pytest.mark.parametrize("restarts", [False, True])
def test_a_program_counts_once_over_one_connection(redis: Any, restarts: bool) -> None:
    url = redis.url

    def program(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection([*range(60)])
        numbers.sink_to(RedisSink(url, lambda n: RedisCommand.hincrby("sums", n % 3, n)))
        return numbers

    before = redis.info("stats")["total_connections_received"]
    run_pipeline(program, cuts=[7] * 5, backends="paged", restarts=restarts)
    assert redis.hgetall("sums") == {str(k): str(sum(range(k, 60, 3))) for k in range(3)}
    if not restarts:
        assert redis.info("stats")["total_connections_received"] - before == 1


def test_two_attempts_at_once_write_once(redis: Any, worker: WorkerResources) -> None:
    """The marker changes between the look at it and the transaction: Redis refuses that one."""
    sink = RedisSink(redis.url, lambda value: RedisCommand.hincrby("counts", value))
    other = WorkerResources()
    slow = sink.writer(context(0, worker))
    slow.write(["a"], [None])
    client = context(0, worker).shared("client", lambda: _Slow(redis.url, sink, other))
    slow.prepare_commit()
    other.close()
    assert client.overtaken
    assert redis.hgetall("counts") == {"a": "1"}


def test_a_transaction_whose_answer_is_lost_counts_once(
    redis: Any, worker: WorkerResources, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redis.client import Pipeline

    inner, lost = Pipeline.execute, []

    def execute(pipe: Any, raise_on_error: bool = True) -> Any:
        answers = inner(pipe, raise_on_error)
        if not lost:
            lost.append(answers)
            raise ConnectionError("the connection was lost")
        return answers

    monkeypatch.setattr(Pipeline, "execute", execute)
    write(RedisSink(redis.url, entry), ["a", "b"], 0, worker)
    assert len(lost) == 1
    assert redis.hgetall("counts") == {"a": "1", "b": "1"}


class _Slow:
    """A client during whose first transaction another attempt writes."""

    def __init__(self, url: str, sink: Sink, worker: WorkerResources) -> None:
        from redis import Redis

        self._client = Redis.from_url(url)
        self._other = (sink, worker)
        self.overtaken = False

    def pipeline(self, transaction: bool) -> Any:
        pipe = self._client.pipeline(transaction=transaction)
        inner = pipe.multi

        def multi() -> None:
            if not self.overtaken:
                self.overtaken = True
                write(self._other[0], ["a"], 0, self._other[1])
            inner()

        pipe.multi = multi
        return pipe

    def close(self) -> None:
        self._client.close()


def test_a_command_that_redis_refuses_is_not_passed_over(
    redis: Any, worker: WorkerResources
) -> None:
    """Redis carries out the rest of the transaction: a second attempt must not look complete."""
    redis.set("text", "no hash")
    sink = RedisSink(redis.url, lambda key: RedisCommand.hincrby(key, "n"))
    for _ in range(2):
        with pytest.raises(JobError, match="refused a command") as caught:
            write(sink, ["counts", "text"], 0, worker)
        assert "HINCRBY text" in str(caught.value) and "WRONGTYPE" in str(caught.value)
    assert redis.hgetall("counts") == {"n": "1"}
    write(sink, ["counts"], 1, worker)
    write(sink, ["counts"], 1, worker)
    assert redis.hgetall("counts") == {"n": "2"}


def test_a_wrong_password_is_reported_at_once_and_not_shown(redis: Any, worker: Any) -> None:
    url = f"redis://nobody:s3cret@{redis.url.rpartition('@')[2]}"
    sink = RedisSink(url, lambda key: RedisCommand.hincrby(key, "n"))
    with pytest.raises(Exception, match="invalid username-password") as caught:
        write(sink, ["a"], 0, worker)
    shown = f"{caught.value} {sink!r} {sink.locator} {RedisLookup(url)!r}"
    assert "s3cret" not in shown


def test_the_sink_waits_for_a_redis_that_goes_away(worker: WorkerResources) -> None:
    """It is killed, and comes back while the task waits: each record counts once."""
    from redis import Redis

    with serving("redis") as server:
        sink = RedisSink(server.url, lambda value: RedisCommand.hincrby("counts", value))
        write(sink, ["a"], 0, worker)
        server.kill()
        task = threading.Thread(target=write, args=(sink, ["a", "b"], 1, worker))
        task.start()
        task.join(timeout=0.3)
        assert task.is_alive()
        server.start()
        task.join(timeout=60)
        write(sink, ["a", "b"], 1, worker)
        with Redis.from_url(server.url, decode_responses=True) as client:
            assert client.hgetall("counts") == {"a": "2", "b": "1"}


def test_patience_ends(worker: WorkerResources) -> None:
    with serving("redis") as server:
        sink = RedisSink(server.url, entry, max_outage=timedelta(milliseconds=100))
    with pytest.raises(Exception, match="refused") as caught:
        write(sink, ["a"], 0, worker)
    assert caught.value.__notes__ == [f"{without_secrets(server.url)} was tried again for 0.1 s"]


def test_lookups_go_together_over_one_connection(redis: Any) -> None:
    redis.hset("user:1", mapping={"name": "ann"})
    redis.hset("user:2", mapping={"name": "bob"})

    def program(env: StreamExecutionEnvironment) -> Any:
        clicks = env.from_collection([(1, "home"), (2, "cart"), (3, "cart")] * 50)
        lookup = RedisLookup(
            redis_url,
            key=lambda click: f"user:{click[0]}",
            read="HGETALL",
            join=lambda click, found: [(*click, found[0]["name"] if found else None)],
        )
        return AsyncDataStream.ordered_wait(clicks, lookup, Time.seconds(30))

    redis_url = redis.url
    before = redis.info("stats")["total_connections_received"]
    found = run_pipeline(program, cuts=[40] * 3).only
    assert found == [(1, "home", "ann"), (2, "cart", "bob"), (3, "cart", None)] * 50
    assert redis.info("stats")["total_connections_received"] - before == 1


@pytest.mark.capability("Lookups in Redis, in PostgreSQL and over HTTP", runners="local")
def test_a_lookup_with_a_cache_asks_once_for_each_key(redis: Any) -> None:
    redis.mset({"ad:0": "c0", "ad:1": "c1"})
    redis.config_resetstat()
    lookup = RedisLookup(redis.url, key="ad:{}".format)
    cache = LookupCache(key=lambda n: n % 3, join=lambda n, found: [(n, *found)])

    def program(env: StreamExecutionEnvironment) -> Any:
        ads = env.from_collection([*range(9)])
        return AsyncDataStream.unordered_wait(ads, lookup, Time.seconds(30), cache=cache)

    assert sorted(run_pipeline(program, cuts=[2] * 4).only) == [
        (n, f"c{n % 3}") if n % 3 < 2 else (n,) for n in range(9)
    ]
    assert redis.info("commandstats")["cmdstat_get"]["calls"] == 3


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"read": "HGET", "field": "name"}, ["ann"]),
        ({"key": lambda key: RedisCommand("LRANGE", "list", 0, -1)}, [["x", "y"]]),
        ({"read": "HGET", "field": "name", "decode": False}, [b"ann"]),
    ],
)
def test_ways_to_read(redis: Any, given: Any, found: list[Any]) -> None:
    redis.hset("user", mapping={"name": "ann"})
    redis.rpush("list", "x", "y")
    lookup = RedisLookup(redis.url, **given)

    def program(env: StreamExecutionEnvironment) -> Any:
        return AsyncDataStream.ordered_wait(env.from_collection(["user"]), lookup, Time.seconds(9))

    assert run_pipeline(program).only == found


def test_a_lookup_waits_for_a_redis_that_goes_away() -> None:
    from redis import Redis

    with serving("redis") as server:
        with Redis.from_url(server.url) as client:
            client.set("a", "1")
        server.kill()
        threading.Timer(0.2, server.start).start()

        def program(env: StreamExecutionEnvironment) -> Any:
            keys = env.from_collection(["a", "b", "a"])
            return AsyncDataStream.ordered_wait(keys, RedisLookup(server.url), Time.seconds(60))

        assert run_pipeline(program).only == ["1", "1"]
