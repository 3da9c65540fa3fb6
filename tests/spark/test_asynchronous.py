"""Asynchronous lookups in Spark's workers."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Time
from headrace.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment

pytestmark = pytest.mark.spark

asked: Counter[int] = Counter()


class Squares(BaseHTTPRequestHandler):
    """Answers ``/n`` with the square of n."""

    def do_GET(self) -> None:
        number = int(self.path[1:])
        asked[number] += 1
        body = str(number * number).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Squares) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


async def fetched(port: int, number: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /{number} HTTP/1.0\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return int(answer.rpartition(b"\r\n")[2])


class Lookup(AsyncFunction[int, Any]):
    """Asks the service; fails six times in the middle. Its semaphore belongs to one loop."""

    def __init__(self, port: int, failures: Path) -> None:
        self._port, self._failures = port, failures

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        self._loop = asyncio.get_running_loop()
        self._few = asyncio.Semaphore(8)

    async def async_invoke(self, value: int) -> list[Any]:
        assert asyncio.get_running_loop() is self._loop
        async with self._few:
            square = await fetched(self._port, value)
        if value == 57 and len(self._failures.read_text()) < 6:
            with self._failures.open("a") as file:
                file.write("x")
            raise OSError("the connection broke")
        return [(value % 7, value, square)]


def test_a_record_has_one_result_though_the_job_fails_in_the_middle(
    port: int, tmp_path: Path
) -> None:
    failures = tmp_path / "failures"
    failures.write_text("")
    settings = {
        "parallelism.default": "2",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "restart-strategy.fixed-delay.delay": "10 ms",
        "headrace.source.max-records-per-batch": "20",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))

    async def again(value: Any) -> Any:
        await asyncio.sleep(0.001)
        return value

    numbers = env.from_sequence(0, 99)
    looked_up = AsyncDataStream.unordered_wait(numbers, Lookup(port, failures), Time.seconds(60))
    largest = looked_up.key_by(lambda found: found[0]).max_by(1)
    after_keys = AsyncDataStream.ordered_wait(largest, again, Time.seconds(60), 4)
    tagged = looked_up.map(lambda found: ("found", found)).union(
        after_keys.map(lambda found: ("kept", found))
    )
    with tagged.execute_and_collect() as results:
        found = Counter(results)
    squares = [(n % 7, n, n * n) for n in range(100)]
    assert {each: n for each, n in found.items() if each[0] == "found"} == {
        ("found", square): 1 for square in squares
    }
    assert sum(n for each, n in found.items() if each[0] == "kept") == 100
    assert failures.read_text() == "xxxxxx"
    assert asked[57] > 6 and min(asked[n] for n in range(100)) == 1
