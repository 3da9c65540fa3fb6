"""Lookups over HTTP, of a server in this process."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headrace.common import Time
from headrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.http import HttpLookup
from headrace.errors import JobError
from headrace.testing import run_pipeline


class Service(ThreadingHTTPServer):
    """Answers ``/price/KEY``; ``busy`` says how often a path is answered with 503 first."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.connections = 0
        self.seen: list[tuple[str, str | None]] = []
        self.busy: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers["Authorization"]))
        key = self.path.rpartition("/")[2]
        status = {"none": 404, "bad": 400}.get(key, 200)
        if self.server.busy[self.path] > 0:
            self.server.busy[self.path] -= 1
            status = 503
        body = json.dumps({"key": key}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = key == "leave"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def looked_up(keys: list[Any], lookup: HttpLookup) -> list[Any]:
    def program(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection(keys)
        return AsyncDataStream.ordered_wait(stream, lookup, Time.seconds(30))

    return run_pipeline(program, cuts=[2] * 9).only


@pytest.mark.capability("Lookups in Redis, in PostgreSQL and over HTTP", runners="local")
def test_answers_over_connections_that_stay_open(service: Service) -> None:
    lookup = HttpLookup(
        f"{service.url}/price/{{}}",
        key=lambda order: order[0],
        join=lambda order, found: [(*order, found[0]["key"] if found else None)],
        headers={"Authorization": "Bearer t"},
        connections=2,
    )
    keys = ["a/b ü", "none", *(str(n) for n in range(20))]
    found = looked_up([(key, 1) for key in keys], lookup)
    assert found == [("a/b ü", 1, "a%2Fb%20%C3%BC"), ("none", 1, None)] + [
        (str(n), 1, str(n)) for n in range(20)
    ]
    assert {authorization for _, authorization in service.seen} == {"Bearer t"}
    assert service.connections <= 2


def test_a_service_that_is_busy_is_asked_again(service: Service) -> None:
    service.busy["/price/a"] = 2
    assert looked_up(["a"], HttpLookup(f"{service.url}/price/{{}}")) == [{"key": "a"}]
    assert [path for path, _ in service.seen] == ["/price/a"] * 3


def test_a_connection_that_the_service_closed_is_opened_again(service: Service) -> None:
    lookup = HttpLookup(f"{service.url}/price/{{}}", connections=1)
    assert looked_up(["leave"] * 4, lookup) == [{"key": "leave"}] * 4


def test_closing_closes_the_connections(service: Service) -> None:
    lookup = HttpLookup(f"{service.url}/price/{{}}")
    lookup.open(None)
    lookup._look_up(f"{service.url}/price/a")
    (connection,) = lookup._open
    assert connection.sock is not None
    lookup.close()
    assert connection.sock is None


def test_a_closed_lookup_opens_no_connection_again(service: Service) -> None:
    """A thread may be asking when the job ends: what it had open is closed under it."""
    lookup = HttpLookup(f"{service.url}/price/{{}}")
    lookup.open(None)
    url = f"{service.url}/price/a"
    assert lookup._look_up(url) == [{"key": "a"}]
    lookup.close()
    (connection,) = lookup._open
    connection.sock = socket.create_connection(("127.0.0.1", service.server_port))
    connection.sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises(OSError):
        lookup._look_up(url)
    assert connection.sock is None


def test_another_status_fails_the_job(service: Service) -> None:
    url = service.url
    lookup = HttpLookup(lambda key: f"{url}/price/{key}?token=s3cret", read=bytes.decode)
    with pytest.raises(JobError, match="status 400") as caught:
        looked_up(["bad"], HttpLookup(f"{service.url}/price/{{}}"))
    assert "/price/bad" in str(caught.value)
    assert looked_up(["x"], lookup) == ['{"key": "x?token=s3cret"}']


def test_a_service_that_is_away_is_waited_for() -> None:
    """When the job starts, and again after answers."""
    with Service() as closed:
        port = closed.server_port

    def serve() -> None:
        for answers in (1, 2, 1):
            with Service(port) as back:
                for _ in range(answers):  # each over a connection of its own
                    back.handle_request()

    thread = threading.Timer(0.1, serve)
    thread.start()
    lookup = HttpLookup(f"http://127.0.0.1:{port}/{{}}", connections=1)
    assert looked_up(["leave"] * 4, lookup) == [{"key": "leave"}] * 4
    thread.join()


def test_patience_ends() -> None:
    with Service() as closed:
        url = closed.url
    lookup = HttpLookup(f"{url}/{{}}", max_outage=Time.milliseconds(60))
    with pytest.raises(ConnectionRefusedError) as caught:
        looked_up(["a"], lookup)
    assert f"{url}/a was tried again for 0.06 s" in caught.value.__notes__
