"""A schema registry over HTTP, in this process: it answers as Confluent's does."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class RegistryServer:
    """What is registered, what was asked, and how to misbehave."""

    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.user: str | None = None
        self.down = False
        self.down_for = 0
        self.refuses: str | None = None
        self.url = ""

    def add(self, subject: str, schema: dict[str, Any]) -> int:
        """The id of a schema, new or known."""
        if schema not in self.schemas:
            self.schemas.append(schema)
        identifier = self.schemas.index(schema) + 1
        ids = self.subjects.setdefault(subject, [])
        if identifier not in ids:
            ids.append(identifier)
        return identifier

    def answer(self, method: str, path: str, body: Any, headers: Any) -> tuple[int, Any]:
        self.asked.append(f"{method} {path}")
        self.down_for -= 1
        if self.down or self.down_for >= 0:
            return 500, {"error_code": 50001, "message": "store is down"}
        if self.user is not None:
            expected = "Basic " + base64.b64encode(self.user.encode()).decode()
            if headers.get("Authorization") != expected:
                said = headers.get("Authorization", "")
                return 401, {"error_code": 401, "message": f"no entry for {said} {self.wrong}"}
        parts = path.partition("?")[0].strip("/").split("/")
        if parts[:2] == ["schemas", "ids"]:
            number = int(parts[2])
            if not 0 < number <= len(self.schemas):
                return 404, {"error_code": 40403, "message": "Schema not found"}
            return 200, self.schemas[number - 1]
        if method == "GET":  # a version of a subject
            ids = self.subjects.get(parts[1], [])
            if not 0 < int(parts[3]) <= len(ids):
                return 404, {"error_code": 40402, "message": "Version not found"}
            number = ids[int(parts[3]) - 1]
            registered = {"subject": parts[1], "id": number, "version": int(parts[3])}
            return 200, {**registered, **self.schemas[number - 1]}
        schema = {"schema": body["schema"]}
        if body.get("schemaType", "AVRO") != "AVRO":
            schema["schemaType"] = body["schemaType"]
        if body.get("references"):
            schema["references"] = body["references"]
        if parts[2:] == ["versions"]:
            if self.refuses is not None:
                return 409, {"error_code": 409, "message": self.refuses}
            identifier = self.add(parts[1], schema)
            return 200, {"id": identifier, **schema}
        if schema not in self.schemas or parts[1] not in self.subjects:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        identifier = self.schemas.index(schema) + 1
        version = self.subjects[parts[1]].index(identifier) + 1
        return 200, {"subject": parts[1], "id": identifier, "version": version, **schema}

    @property
    def wrong(self) -> str:
        return "secret-pw"  # a server that echoes its requests


@contextmanager
def running() -> Iterator[RegistryServer]:
    """A registry on a free port of this machine."""
    registry = RegistryServer()

    class Handler(BaseHTTPRequestHandler):
        def _respond(self, method: str) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"null")
            status, answer = registry.answer(method, self.path, body, self.headers)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._respond("GET")

        def do_POST(self) -> None:
            self._respond("POST")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
