"""The web server of the page: one per process and address, for all jobs of the process.

It listens at once, but imports its libraries only at the first connection, so that the start of a
job is not slower.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import json
import re
import selectors
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headrace.common._extras import optional
from headrace.common._options import catalogue as options
from headrace.common.job_status import JobStatus
from headrace.runners.ui import rest
from headrace.runners.ui.commands import MAX_BODY_BYTES, Commands, check_token
from headrace.runners.ui.connections import make_protocol
from headrace.runners.ui.page_data import graph_data, state_data
from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.refusals import NotFound, Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

_FILES = {
    "index.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_VERSIONS = ("", "/v1")
"""The prefixes of paths, as in Flink, of whose API there is one version."""

_BACKLOG = 64
_MAX_JOBS = 100
_WAITING_QUERIES = 8
_ACTIVE = (JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.FAILING, JobStatus.CANCELLING)


class UiServer:
    """Serves the page and its JSON on one address, in a separate thread."""

    def __init__(self, host: str, port: int) -> None:
        """Listen on an address; port 0: any free port.

        Raises:
            OSError: the port is in use, or the host is not an address of this machine.
        """
        self._host = host
        self._records: dict[int, JobRecord] = {}
        """By number, in the order in which the jobs were added."""
        self._next_number = 0
        self._adding = threading.Lock()
        self._names = {"localhost", host.lower()}
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # asyncio sets TCP_NODELAY on connections only if the protocol is named. Without it, an
        # answer waits for the delayed acknowledgement of its headers, 40 ms.
        self._socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, port))
            self._socket.listen(_BACKLOG)
        except BaseException:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self._server: Any = None
        self._waiting: Any = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="headrace-page", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The URL of the page."""
        shown = self._host
        if shown in ("0.0.0.0", "::", ""):
            shown = socket.gethostname()
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"

    def add(self, record: JobRecord, name: str | None = None) -> None:
        """Add a job to the page; of more than 100 jobs the oldest that has ended is dropped.

        ``name``: a further host name by which the page is reached from now on.
        """
        with self._adding:
            if name is not None:
                self._names = self._names | {name.lower()}
            records = {**self._records, self._next_number: record}
            self._next_number += 1
            ended = [number for number, each in self._records.items() if each.status not in _ACTIVE]
            if len(records) > _MAX_JOBS and ended:
                del records[ended[0]]
            self._records = records  # replaced as a whole: the server's thread reads it

    def close(self) -> None:
        """Stop serving."""
        self._closed.set()
        if self._server is not None:
            self._server.should_exit = True
        else:
            with contextlib.suppress(OSError):  # wakes the thread
                socket.create_connection(self._socket.getsockname()[:2], 1).close()
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.select()  # the first connection waits in the backlog
        if self._closed.is_set():
            return
        uvicorn = optional("uvicorn")
        config = uvicorn.Config(
            self.app(),
            http=make_protocol(),
            backlog=_BACKLOG,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        if not self._closed.is_set():
            self._server.run(sockets=[self._socket])

    def app(self) -> App:
        """Return the ASGI application."""
        applications = optional("starlette.applications")
        routing = optional("starlette.routing")
        commands = {
            "/jobs/{job}/savepoints": Commands.savepoint,
            "/jobs/{job}/stop": Commands.stop,
        }
        routes = [
            routing.Route("/jobs/{job}/state", self._query, methods=["POST"]),
            routing.Route("/", partial(_file, "index.html")),
            *(routing.Route(f"/{name}", partial(_file, name)) for name in _FILES),
            *(
                routing.Route(f"{version}{path}", self._endpoint(answer), methods=["GET"])
                for path, answer in self._answers().items()
                for version in _VERSIONS
            ),
            *(
                routing.Route(f"{version}{path}", self._command(command), methods=["POST"])
                for path, command in commands.items()
                for version in _VERSIONS
            ),
        ]
        left = optional("starlette.requests").ClientDisconnect
        inner = applications.Starlette(
            routes=routes, exception_handlers={404: _not_found, 405: _not_found, left: _left}
        )
        return self._guarded(inner)

    def _guarded(self, inner: App) -> App:
        """Return an application that refuses requests for other host names, and sets headers.

        Otherwise another website could resolve its own name to this server (DNS rebinding), and
        then read the answers.
        """
        plain = optional("starlette.responses").PlainTextResponse
        refusal = plain(
            "this server does not answer for that host name: use localhost, an IP address or the"
            f" name of its machine, or set {options.UI_ADDRESS.key}",
            421,
        )
        headers = [(name.lower().encode(), text.encode()) for name, text in _HEADERS.items()]

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_with_headers(message: Any) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message["headers"], *headers]
                await send(message)

            hosts = [text for name, text in scope.get("headers", ()) if name == b"host"]
            # Each part of a path is decoded when it is known: the id of a vertex may have a slash.
            # As in Flink, a path may end with a slash.
            scope = {**scope, "path": "/" + scope["raw_path"].decode("latin-1").strip("/")}
            own = len(hosts) == 1 and self._is_own_name(hosts[0].decode("latin-1"))
            await (inner if own else refusal)(scope, receive, send_with_headers)

        return app

    def _answers(self) -> Mapping[str, Callable[[Request], Any]]:
        def of_all(answer: Callable[[Sequence[JobRecord]], Any]) -> Callable[[Request], Any]:
            return lambda request: answer([*self._records.values()])

        def of_job(answer: Callable[[JobRecord], Any]) -> Callable[[Request], Any]:
            return lambda request: answer(self._record(request))

        def of_vertex(answer: Callable[[JobRecord, str], Any]) -> Callable[[Request], Any]:
            return lambda request: answer(self._record(request), _part(request, "vertex"))

        def of_vertex_metrics(
            answer: Callable[[JobRecord, str, Sequence[str] | None], Any],
        ) -> Callable[[Request], Any]:
            return lambda request: answer(
                self._record(request), _part(request, "vertex"), _wanted(request)
            )

        def of_request(request: Request) -> Any:
            record = self._record(request)
            check_token(record.token, _has_token(request, record.token))
            return record.commands.result(_part(request, "id"))

        job, vertex = "/jobs/{job}", "/jobs/{job}/vertices/{vertex}"
        return {
            "/overview": of_all(rest.overview),
            "/config": lambda request: rest.config(),
            "/jobs": of_all(rest.jobs),
            "/jobs/overview": of_all(rest.jobs_overview),
            job: of_job(rest.job_details),
            f"{job}/status": of_job(rest.status),
            f"{job}/plan": of_job(rest.plan),
            f"{job}/config": of_job(rest.job_config),
            f"{job}/accumulators": of_job(rest.accumulators),
            f"{job}/metrics": lambda request: rest.job_metrics(
                self._record(request), _wanted(request)
            ),
            f"{job}/checkpoints": of_job(rest.checkpoints),
            f"{job}/checkpoints/config": of_job(rest.checkpoint_config),
            f"{job}/exceptions": self._exceptions,
            f"{job}/savepoints/{{id}}": of_request,
            vertex: of_vertex(rest.vertex_details),
            f"{vertex}/watermarks": of_vertex(rest.watermarks),
            f"{vertex}/backpressure": of_vertex(rest.backpressure),
            f"{vertex}/metrics": of_vertex_metrics(rest.vertex_metrics),
            f"{vertex}/subtasks/metrics": lambda request: rest.subtask_metrics(
                *(self._record(request), _part(request, "vertex")),
                *(_wanted(request), _wanted(request, "agg")),
            ),
            "/page/jobs": lambda request: [
                {"number": number, "name": each.name, "status": each.status.name}
                for number, each in self._records.items()
            ],
            "/page/jobs/{number}/graph": lambda request: graph_data(self._numbered(request)),
            "/page/jobs/{number}/state": self._state,
        }

    def _exceptions(self, request: Request) -> dict[str, Any]:
        record = self._record(request)
        most = _parse_number(request.query_params.get("maxExceptions", ""))
        return rest.exceptions(record, _has_token(request, record.token), most)

    def _state(self, request: Request) -> dict[str, Any]:
        record = self._numbered(request)
        after = _parse_number(request.query_params.get("after", ""))
        return state_data(record, -1 if after is None else after, _has_token(request, record.token))

    def _endpoint(self, answer: Callable[[Request], Any]) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            return _json_response(lambda: answer(request), 200)

        return endpoint

    def _command(
        self, command: Callable[[Commands, bytes], Any]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint for a command, which needs the job's token."""

        async def endpoint(request: Request) -> Response:
            body = await _read_body(request)
            return _json_response(
                lambda: command(self._commanded(request, body).commands, body), 202
            )

        return endpoint

    async def _query(self, request: Request) -> Response:
        """Answer a query of state: at once, as another thread would have to wait for a core.

        A job of the local runner answers between two micro-batches, so a thread waits for it. Only
        a few threads do, and none of those that answer other requests.
        """
        body = await _read_body(request)

        def answer() -> Any:
            record = self._commanded(request, body)
            if record.job is None:
                raise Refused(409, "the job has not started")
            return record.commands.query(record.job.program, body)

        job_id = _part(request, "job")
        jobs = (each.job for each in self._records.values() if each.job is not None)
        if not any(job.job_id == job_id and job.runner == "local" for job in jobs):
            return _json_response(answer, 200)
        anyio = optional("starlette.concurrency").anyio
        if self._waiting is None:
            self._waiting = anyio.CapacityLimiter(_WAITING_QUERIES)
        found: Response = await anyio.to_thread.run_sync(
            _json_response, answer, 200, limiter=self._waiting
        )
        return found

    def _commanded(self, request: Request, body: bytes) -> JobRecord:
        """Return the job of a request that has its token."""
        record = self._record(request)
        check_token(record.token, _has_token(request, record.token))
        if len(body) > MAX_BODY_BYTES:
            raise Refused(413, f"the body has more than {MAX_BODY_BYTES} bytes")
        return record

    def _is_own_name(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").rstrip(".").lower()
        if name in self._names or name in _machine_names():
            return True
        try:
            ipaddress.ip_address(name)  # an IP address cannot be rebound
        except ValueError:
            return False
        return True

    def _record(self, request: Request) -> JobRecord:
        job_id = _part(request, "job")
        for record in self._records.values():
            if record.job is not None and record.job.job_id == job_id:
                return record
        raise NotFound(f"Job {job_id} not found")

    def _numbered(self, request: Request) -> JobRecord:
        text = _part(request, "number")
        number = _parse_number(text)
        record = None if number is None else self._records.get(number)
        if record is None:
            raise NotFound(f"there is no job number {text}")
        return record


def _part(request: Request, name: str) -> str:
    """Return a part of a request's path, decoded."""
    return unquote(request.path_params[name])


async def _read_body(request: Request) -> bytes:
    """Return the body of a request, or its beginning if it is too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            break
    return body


def _json_response(answer: Callable[[], Any], code: int) -> Response:
    try:
        text = _to_json(answer())
    except Refused as error:
        text, code = _to_json({"errors": [str(error)]}), error.code
    except Exception as error:  # our mistake, or an object of the user's that cannot be shown
        _print_once(error)
        text, code = _to_json({"errors": [f"Internal server error: {type(error).__name__}"]}), 500
    responses = optional("starlette.responses")
    found: Response = responses.Response(text, code, media_type="application/json")
    return found


def _to_json(content: Any) -> str:
    """Return JSON in ASCII: a path may have bytes that are no UTF-8 (surrogates in Python)."""
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


_printed: set[tuple[str, int | None]] = set()
"""Where the errors were raised that have been printed: pages ask once a second."""


def _print_once(error: Exception) -> None:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    if (frame.filename, frame.lineno) not in _printed:
        _printed.add((frame.filename, frame.lineno))
        text = "".join(traceback.format_exception(error))
        print(f"headrace: the page could not answer a request:\n{text}", file=sys.stderr)


def _has_token(request: Request, token: str | None) -> bool:
    if not token:
        return False
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    # Headers are read as Latin-1, but most programs send UTF-8, as the page does.
    sent = given.strip()
    matches = [
        hmac.compare_digest(sent.encode(encoding), token.encode())
        for encoding in ("latin-1", "utf-8")
    ]
    return scheme.lower() == "bearer" and any(matches)


def _parse_number(text: str) -> int | None:
    """Return a number from a request; None for any other text, and for too many digits."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def _machine_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0]}


def _wanted(request: Request, parameter: str = "get") -> list[str] | None:
    found = request.query_params.get(parameter)
    return None if found is None else [name for name in found.split(",") if name]


def _file(name: str, request: Request) -> Response:
    responses = optional("starlette.responses")
    data = (resources.files("headrace.runners.ui") / "static" / name).read_bytes()
    found: Response = responses.Response(data, media_type=_FILES[name])
    return found


def _left(request: Request, error: Exception) -> Response:
    """Return what nobody reads: the client has closed the connection within its request."""
    responses = optional("starlette.responses")
    found: Response = responses.Response(status_code=400)
    return found


def _not_found(request: Request, error: Exception) -> Response:
    responses = optional("starlette.responses")
    found: Response = responses.JSONResponse(
        {"errors": [f"Not found: {unquote(request.scope['path'])}"]}, 404
    )
    return found
