"""The client of WebHDFS against a server that answers as it is told; a real one: tests/storage."""

from __future__ import annotations

import http.client
import io
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest

from headrace.common._storage.hdfs import HdfsFiles, name_nodes, open_hdfs
from headrace.common._storage.locations import (
    LOCAL_ONLY,
    StorageAccess,
    file_system_of,
    split_url,
    use_access,
)
from headrace.common._storage.web_hdfs import Address, WebHdfs
from headrace.errors import UnsupportedError


def remote(exception: str, message: str = "told") -> dict[str, Any]:
    return {"RemoteException": {"exception": exception, "message": message}}


@dataclass
class Node:
    """A name node and a data node. ``answers``: (status, JSON), the next one first; then 200."""

    answers: list[tuple[int, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self.port)


@pytest.fixture
def nodes() -> Iterator[list[Node]]:
    found, servers = [Node(), Node()], []
    for node in found:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(node))
        node.port = server.server_port
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    for server in servers:
        server.shutdown()
        server.server_close()


def _handler(node: Node) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            operation = query.get("op", ["data"])[0]
            node.requests.append(f"{self.command} {operation}")
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            status, answer = node.answers.pop(0) if node.answers else (200, {"boolean": True})
            if status == 0:  # the connection is lost
                self.close_connection = True
                return
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status == 307:
                scheme = answer.get("scheme", "http")
                self.send_header("Location", f"{scheme}://127.0.0.1:{node.port}/data?x=1")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_DELETE = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


def client(*nodes: Node) -> tuple[WebHdfs, list[float]]:
    pauses: list[float] = []
    addresses = [node.address for node in nodes]
    return WebHdfs("nn", addresses, {"user.name": "ann"}, pauses.append), pauses


def test_a_standby_is_passed_over_and_remembered(nodes: list[Node]) -> None:
    nodes[0].answers = [(403, remote("StandbyException"))] * 5
    web, pauses = client(*nodes)
    web.call("GET", "GETFILESTATUS", "/x")
    web.call("GET", "GETFILESTATUS", "/x")
    assert len(nodes[0].requests) == 1 and len(nodes[1].requests) == 2 and pauses == []


def test_while_both_are_standby_it_waits(nodes: list[Node]) -> None:
    for node in nodes:
        node.answers = [(403, remote("StandbyException"))] * 2
    web, pauses = client(*nodes)
    assert web.call("PUT", "MKDIRS", "/x") == {"boolean": True}
    assert pauses == [0.1, 0.5]


def test_an_answer_that_is_lost_is_asked_for_again(nodes: list[Node]) -> None:
    nodes[0].answers = [(0, None)]
    web, pauses = client(nodes[0])
    web.call("GET", "LISTSTATUS", "/x")
    assert len(nodes[0].requests) == 2 and len(pauses) == 1


def test_a_rename_whose_answer_is_lost_is_not_repeated(nodes: list[Node]) -> None:
    nodes[0].answers = [(0, None)]
    web, _ = client(nodes[0])
    with pytest.raises(OSError, match="without an answer"):
        web.call("PUT", "RENAME", "/x", repeats=False, destination="/y")
    assert len(nodes[0].requests) == 1


@pytest.mark.parametrize(
    ("exception", "kind"),
    [
        ("FileNotFoundException", FileNotFoundError),
        ("AccessControlException", PermissionError),
        ("FileAlreadyExistsException", FileExistsError),
        ("QuotaExceededException", OSError),
    ],
)
def test_errors_keep_their_meaning(exception: str, kind: type[OSError], nodes: list[Node]) -> None:
    nodes[0].answers = [(403, remote(exception, "the reason\nat org.apache"))]
    web, _ = client(nodes[0])
    with pytest.raises(kind, match=r"GETFILESTATUS of hdfs://nn/x: the reason$"):
        web.call("GET", "GETFILESTATUS", "/x")


def test_a_broken_write_is_written_anew_from_the_start(nodes: list[Node]) -> None:
    nodes[0].answers = [(307, {}), (0, None), (307, {}), (201, {})]
    web, pauses = client(nodes[0])
    web.write("/x", io.BytesIO(b"content"))
    assert nodes[0].requests == ["PUT CREATE", "PUT data"] * 2 and len(pauses) == 1


def test_a_data_node_whose_tls_breaks_is_asked_for_again(nodes: list[Node]) -> None:
    nodes[0].answers = [(307, {"scheme": "https"}), (307, {}), (200, b"content")]
    web, pauses = client(nodes[0])
    assert web.read("/x") == b"content"
    assert len(pauses) == 1


def test_a_certificate_that_is_not_trusted_is_named_at_once(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(connection: http.client.HTTPSConnection) -> None:
        error = ssl.SSLCertVerificationError()
        error.verify_message = "self-signed certificate"
        raise error

    monkeypatch.setattr(http.client.HTTPSConnection, "connect", connect)
    pauses: list[float] = []
    secure = nodes[0].address._replace(is_secure=True)
    web = WebHdfs("nn", [secure], {}, pauses.append)
    message = rf"127.0.0.1:{secure.port} is not trusted: self-signed certificate.*SSL_CERT_FILE"
    with pytest.raises(OSError, match=message):
        web.call("GET", "GETFILESTATUS", "/x")
    nodes[0].answers = [(307, {"scheme": "https"})]
    with pytest.raises(OSError, match=message):
        WebHdfs("nn", [nodes[0].address], {}, pauses.append).read("/x")
    assert pauses == []


def test_nobody_answers_in_a_sentence() -> None:
    web = WebHdfs("nn", [Address("127.0.0.1", 1)], {}, lambda seconds: None)
    with pytest.raises(OSError, match=r"tried 127.0.0.1:1.*dfs.namenode.http-address"):
        web.call("GET", "GETFILESTATUS", "/x")


HA = {
    "dfs.ha.namenodes.ns": "a, b",
    "dfs.namenode.http-address.ns.a": "one:50070",
    "dfs.namenode.http-address.ns.b": "0.0.0.0:9870",
    "dfs.namenode.rpc-address.ns.b": "two:8020",
    "dfs.namenode.https-address.ns.a": "one:50470",
}


@pytest.mark.parametrize(
    ("authority", "settings", "expected"),
    [
        ("nn:8020", {}, [Address("nn", 9870)]),
        ("nn", {"dfs.namenode.http-address": "0.0.0.0:9871"}, [Address("nn", 9871)]),
        ("nn:1", {"dfs.namenode.http-address": "web:80"}, [Address("web", 80)]),
        ("ns", HA, [Address("one", 50070), Address("two", 9870)]),
        (
            "ns",
            {**HA, "dfs.http.policy": "HTTPS_ONLY"},
            [Address("one", 50470, True), Address("two", 9871, True)],
        ),
    ],
)
def test_addresses_of_name_nodes(
    authority: str, settings: dict[str, str], expected: list[Address]
) -> None:
    assert name_nodes(authority, settings) == expected


def test_what_no_client_can_be_made_of() -> None:
    with pytest.raises(UnsupportedError, match="names no name node"):
        open_hdfs(split_url("hdfs:///x"), StorageAccess())
    with pytest.raises(UnsupportedError, match=r"dfs.webhdfs.enabled is false"):
        open_hdfs(split_url("hdfs://nn/x"), StorageAccess({"dfs.webhdfs.enabled": "false"}))


def test_a_token_stands_for_the_user(nodes: list[Node]) -> None:
    from headrace.common._storage.hdfs import _identity

    access = StorageAccess({}, "ann", {"ha-hdfs:ns": "t1", "10.0.0.1:8020": "t2"})
    assert _identity("ns", access) == {"delegation": "t1"}
    assert _identity("10.0.0.1:8020", access) == {"delegation": "t2"}
    assert _identity("10.0.0.2:8020", access) == {"user.name": "ann"}
    by_name = StorageAccess({}, "ann", {"127.0.0.1:8020": "t"})
    assert _identity("localhost:8020", by_name) == {"delegation": "t"}


def test_other_tokens_are_used_by_file_systems_that_are_open() -> None:
    def access(token: str, **settings: str) -> StorageAccess:
        return StorageAccess(settings, "ann", {"ha-hdfs:nn": token})

    def identity() -> Any:
        return cast(HdfsFiles, file_system_of("hdfs://nn/x"))._client.identity

    try:
        use_access(access("first"))
        kept = file_system_of("hdfs://nn/x")
        assert identity() == {"delegation": "first"}
        use_access(access("second"))
        assert file_system_of("hdfs://nn/x") is kept
        assert identity() == {"delegation": "second"}
        use_access(access("second", **{"dfs.http.policy": "HTTPS_ONLY"}))
        assert file_system_of("hdfs://nn/x") is not kept
    finally:
        use_access(LOCAL_ONLY)
