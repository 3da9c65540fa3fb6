"""``python -m tests.proof.http_service PORT``: answers ``/KEY`` with ``{"rate": KEY}``."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from headrace.dev.ports import HOST, free_ports, is_free
from headrace.dev.service import Service

ROOT = Path(__file__).parents[2]


def service(folder: Path, port: int) -> Service:
    """The service as a server that can be killed and started again."""
    folder.mkdir(parents=True, exist_ok=True)
    own = port or free_ports(1)[0]
    module = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {__name__} as s; s.main()"
    command = [sys.executable, "-c", module, str(own)]
    return Service("http", folder, command, f"http://{HOST}:{own}", lambda: not is_free(own))


class Rates(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps({"rate": int(self.path[1:])}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def main() -> None:
    ThreadingHTTPServer((HOST, int(sys.argv[1])), Rates).serve_forever()


if __name__ == "__main__":
    main()
