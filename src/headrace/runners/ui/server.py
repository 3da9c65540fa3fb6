"""The web server of the page: one in a process, for all of its jobs.

It listens at once, and imports its libraries when somebody connects, so it costs the start nothing.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import selectors
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from headrace.common._extras import optional
from headrace.runners.ui import rest
from headrace.runners.ui.page_data import graph_data, state_data
from headrace.runners.ui.record import JobRecord

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
_BACKLOG = 64


class UiServer:
    """Serves the page and its JSON on one address, from a thread of its own.

    ``token``: who gives it sees values of records in failures; without one nobody does.
    """

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        """Listen on an address; port 0: any that is free.

        Raises:
            OSError: the port is in use, or the host is not one of this machine.
        """
        self._host, self._token = host, token
        self._records: list[JobRecord] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, port))
            self._socket.listen(_BACKLOG)
        except BaseException:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self._server: Any = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="headrace-page", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the page is."""
        shown = self._host
        if shown in ("0.0.0.0", "::", ""):
            shown = socket.gethostname()
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"

    @property
    def token(self) -> str | None:
        """The token that shows values of records."""
        return self._token

    def add(self, record: JobRecord) -> None:
        """Show a job, too."""
        self._records.append(record)

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
        """Return the application."""
        applications = optional("starlette.applications")
        routing = optional("starlette.routing")
        routes = [
            routing.Route("/", partial(_file, "index.html")),
            *(routing.Route(f"/{name}", partial(_file, name)) for name in _FILES),
            *(
                routing.Route(path, self._endpoint(answer), methods=["GET"])
                for path, answer in self._answers().items()
            ),
        ]
        inner = applications.Starlette(
            routes=routes, exception_handlers={404: _not_found, 405: _not_found}
        )
        return self._guarded(inner)

    def _guarded(self, inner: App) -> App:
        """Return an application that refuses requests to other names, and sets headers.

        A page elsewhere could have its own name lead here (DNS rebinding), and then read answers.
        """
        plain = optional("starlette.responses").PlainTextResponse
        refusal = plain("this server is not reached by that name", 421)
        headers = [(name.lower().encode(), text.encode()) for name, text in _HEADERS.items()]

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_with_headers(message: Any) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message["headers"], *headers]
                await send(message)

            hosts = [text for name, text in scope.get("headers", ()) if name == b"host"]
            own = len(hosts) == 1 and self._is_own_name(hosts[0].decode("latin-1"))
            await (inner if own else refusal)(scope, receive, send_with_headers)

        return app

    def _answers(self) -> Mapping[str, Callable[[Request], Any]]:
        def of_all(answer: Callable[[Sequence[JobRecord]], Any]) -> Callable[[Request], Any]:
            return lambda request: answer([*self._records])

        def of_job(answer: Callable[[JobRecord], Any]) -> Callable[[Request], Any]:
            return lambda request: answer(self._record(request))

        def of_vertex(answer: Callable[[JobRecord, str], Any]) -> Callable[[Request], Any]:
            return lambda request: answer(self._record(request), request.path_params["vertex"])

        def of_vertex_metrics(
            answer: Callable[[JobRecord, str, Sequence[str] | None], Any],
        ) -> Callable[[Request], Any]:
            return lambda request: answer(
                self._record(request), request.path_params["vertex"], _wanted(request)
            )

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
            f"{job}/exceptions": lambda request: rest.exceptions(
                self._record(request), self._may_see_values(request)
            ),
            vertex: of_vertex(rest.vertex_details),
            f"{vertex}/watermarks": of_vertex(rest.watermarks),
            f"{vertex}/backpressure": of_vertex(rest.backpressure),
            f"{vertex}/metrics": of_vertex_metrics(rest.vertex_metrics),
            f"{vertex}/subtasks/metrics": of_vertex_metrics(rest.subtask_metrics),
            "/page/jobs": lambda request: [
                {"number": number, "name": each.name, "status": each.status.name}
                for number, each in enumerate(self._records)
            ],
            "/page/jobs/{number:int}/graph": lambda request: graph_data(self._numbered(request)),
            "/page/jobs/{number:int}/state": self._state,
        }

    def _state(self, request: Request) -> dict[str, Any]:
        after = request.query_params.get("after", "")
        return state_data(
            self._numbered(request),
            int(after) if after.isdigit() else -1,
            self._may_see_values(request),
        )

    def _endpoint(self, answer: Callable[[Request], Any]) -> Callable[[Request], Response]:
        responses = optional("starlette.responses")

        def endpoint(request: Request) -> Response:
            try:
                content, code = answer(request), 200
            except rest.NotFound as error:
                content, code = {"errors": [str(error)]}, 404
            found: Response = responses.JSONResponse(content, code)
            return found

        return endpoint

    def _is_own_name(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").rstrip(".").lower()
        if name in {"localhost", self._host.lower(), *_machine_names()}:
            return True
        try:
            ipaddress.ip_address(name)  # a number leads nowhere else
        except ValueError:
            return False
        return True

    def _may_see_values(self, request: Request) -> bool:
        if not self._token:
            return False
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        matches = hmac.compare_digest(given.strip().encode(), self._token.encode())
        return scheme.lower() == "bearer" and matches

    def _record(self, request: Request) -> JobRecord:
        job_id = request.path_params["job"]
        for record in self._records:
            if record.job is not None and record.job.job_id == job_id:
                return record
        raise rest.NotFound(f"Job {job_id} not found")

    def _numbered(self, request: Request) -> JobRecord:
        number: int = request.path_params["number"]
        if number >= len(self._records):
            raise rest.NotFound(f"there is no job number {number}")
        return self._records[number]


def _machine_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0]}


def _wanted(request: Request) -> list[str] | None:
    found = request.query_params.get("get")
    return None if found is None else [name for name in found.split(",") if name]


def _file(name: str, request: Request) -> Response:
    responses = optional("starlette.responses")
    data = (resources.files("headrace.runners.ui") / "static" / name).read_bytes()
    found: Response = responses.Response(data, media_type=_FILES[name])
    return found


def _not_found(request: Request, error: Exception) -> Response:
    responses = optional("starlette.responses")
    found: Response = responses.JSONResponse({"errors": [f"Not found: {request.url.path}"]}, 404)
    return found
