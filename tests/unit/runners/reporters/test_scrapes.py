"""The server that Prometheus scrapes: what clients may not do to the job."""

from __future__ import annotations

import socket
import struct
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.runners.reporters.scrapes import ScrapeServer

CONNECTIONS = 4


def app(environ: Any, start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"metrics"]


@pytest.fixture
def server() -> Iterator[ScrapeServer]:
    found = ScrapeServer("127.0.0.1", 0, app, CONNECTIONS, 0.5)
    yield found
    found.close()


def scrape(server: ScrapeServer) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
        found: bytes = answer.read()
    return found


def connect(server: ScrapeServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), 20)


def test_it_answers(server: ScrapeServer) -> None:
    assert [scrape(server) for _ in range(10)] == [b"metrics"] * 10


def test_connections_are_few_and_silent_ones_are_closed(server: ScrapeServer) -> None:
    before = threading.active_count()
    silent = [connect(server) for _ in range(20)]
    for each in silent[4:]:
        assert each.recv(1) == b""  # at once, as four others are open
    assert threading.active_count() <= before + 4
    for each in silent[:4]:
        assert each.recv(1) == b""
    assert scrape(server) == b"metrics"


def test_a_client_that_leaves_prints_nothing(
    server: ScrapeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for sent in (b"", b"GET /metrics HTTP/1.1\r\n", b"nonsense\r\n\r\n"):
        left = connect(server)
        left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        left.sendall(sent)
        left.close()
    assert scrape(server) == b"metrics"  # so all of them were accepted before
    for _ in range(CONNECTIONS):  # and they have ended
        assert server._free.acquire(timeout=20)
    server._free.release(CONNECTIONS)
    assert capsys.readouterr().err == ""


def test_a_port_that_is_taken_is_an_error(server: ScrapeServer) -> None:
    with pytest.raises(OSError, match="in use"):
        ScrapeServer("127.0.0.1", server.server_port, app)


def test_a_host_may_have_another_address_family() -> None:
    try:
        server = ScrapeServer("::1", 0, app)
    except OSError:
        pytest.skip("missing: IPv6")
    server.close()
