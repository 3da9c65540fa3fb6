"""Commands that the page's server passes to a job, in the format of Flink's REST API."""

from __future__ import annotations

import json
import threading
import traceback
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headrace.common._options import catalogue as options
from headrace.common.job_client import StateAnswer
from headrace.errors import (
    ConfigurationError,
    HeadraceError,
    QueryBudgetError,
    StateQueryError,
)
from headrace.runners.ui.json_values import json_value
from headrace.runners.ui.refusals import Refused
from headrace.runtime.program import JobProgram
from headrace.runtime.queries import (
    MAX_KEYS,
    keys_from_json,
    queryable_vertex,
    queryable_vertices,
)

_KEPT = 16
MAX_BODY_BYTES = 64 << 10


class Commanded(Protocol):
    """The methods of a ``JobHandle`` that commands call."""

    def savepoint(self, folder: str | None) -> Callable[[], str]:
        """Request a savepoint; what is returned waits for its folder."""

    def stop_with_savepoint(self, folder: str | None, drain: bool) -> Callable[[], str]:
        """Request a stop with a savepoint; what is returned waits for its folder."""

    def query_state(self, uid: str, name: str, keys: Sequence[Any]) -> StateAnswer:
        """Return the state of keys after the last committed micro-batch."""


def _line(error: HeadraceError) -> str:
    return "; ".join(filter(None, (error.message, error.hint)))


class Commands:
    """The commands of one job, each with an id by which its end is asked for.

    ``job``: None until the job has started, and after its end. The last 16 commands are known.
    """

    def __init__(self) -> None:
        self.job: Commanded | None = None
        self._lock = threading.Lock()
        self._ended = False
        self._results: dict[str, dict[str, Any] | None] = {}

    def begin(self, job: Commanded) -> None:
        """Pass commands to the job from now on, unless it has ended."""
        with self._lock:
            if not self._ended:
                self.job = job

    def end(self) -> None:
        """Refuse commands from now on, and forget the job, which may have large state."""
        with self._lock:
            self._ended, self.job = True, None

    def _find_job(self) -> Commanded:
        job = self.job
        if job is None:
            state = "has ended" if self._ended else "has not started"
            raise Refused(409, f"the job {state}")
        return job

    def savepoint(self, body: bytes) -> dict[str, Any]:
        """Answer ``POST /jobs/:jobid/savepoints``."""
        given = _Body(body)
        folder = given.text("target-directory", "targetDirectory")
        if given.flag("cancel-job", "cancelJob"):
            raise Refused(400, "cancel-job is not supported: POST /jobs/:jobid/stop")
        return self._begin(lambda job: job.savepoint(folder))

    def stop(self, body: bytes) -> dict[str, Any]:
        """Answer ``POST /jobs/:jobid/stop``."""
        given = _Body(body)
        folder, drain = given.text("targetDirectory", "target-directory"), given.flag("drain")
        return self._begin(lambda job: job.stop_with_savepoint(folder, drain))

    def query(self, program: JobProgram, body: bytes) -> dict[str, Any]:
        """Answer ``POST /jobs/:jobid/state``: the state of keys.

        The body: ``uid``, ``name`` and ``keys``.
        """
        given = _Body(body)
        uid, name, keys = given.text("uid"), given.text("name"), given.array("keys")
        if uid is None or name is None or keys is None:
            raise Refused(400, "the body needs uid, name and keys")
        if len(keys) > MAX_KEYS:
            raise Refused(400, f"there are {len(keys):,} keys; a query may have {MAX_KEYS:,}")
        job = self._find_job()
        try:
            vertex = queryable_vertex(queryable_vertices(program), uid)
            answer = job.query_state(uid, name, keys_from_json(program, vertex, keys))
        except QueryBudgetError as error:
            raise Refused(429, _line(error)) from None
        except StateQueryError as error:
            raise Refused(503, _line(error)) from None
        except ConfigurationError as error:
            raise Refused(404, _line(error)) from None
        except HeadraceError as error:
            raise Refused(400, _line(error)) from None
        return {"microBatch": answer.micro_batch, "values": json_value(answer.values)}

    def _begin(self, request: Callable[[Commanded], Callable[[], str]]) -> dict[str, Any]:
        id_, job = uuid.uuid4().hex, self._find_job()
        with self._lock:
            self._results[id_] = None
            for old in [*self._results][:-_KEPT]:
                del self._results[old]

        def run() -> None:
            try:
                found: dict[str, Any] = {"location": request(job)()}
            except Exception as error:
                found = {"failure-cause": _cause(error)}
            with self._lock:
                if id_ in self._results:
                    self._results[id_] = found

        threading.Thread(target=run, name="headrace-command", daemon=True).start()
        return {"request-id": id_}

    def result(self, id_: str) -> dict[str, Any]:
        """Answer ``GET /jobs/:jobid/savepoints/:triggerid``."""
        with self._lock:
            if id_ not in self._results:
                raise Refused(404, f"there is no request {id_}; only the last {_KEPT} are known")
            found = self._results[id_]
        if found is None:
            return {"status": {"id": "IN_PROGRESS"}}
        return {"status": {"id": "COMPLETED"}, "operation": found}


def check_token(token: str | None, matches: bool) -> None:
    """Refuse a command without the job's token."""
    if not token:
        raise Refused(403, f"commands need a token: set {options.UI_TOKEN.key}")
    if not matches:
        raise Refused(401, f"give the header Authorization: Bearer <{options.UI_TOKEN.key}>")


def _cause(error: Exception) -> dict[str, str]:
    return {
        "class": type(error).__name__,
        "stack-trace": "".join(traceback.format_exception_only(error)).rstrip(),
    }


class _Body:
    """The JSON object that a request has; empty without one."""

    def __init__(self, body: bytes) -> None:
        try:
            found = json.loads(body) if body.strip() else {}
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise Refused(400, "the body is not a JSON object")
        self._found: dict[str, Any] = found

    def text(self, *names: str) -> str | None:
        """Return a text by one of its names; None if there is none."""
        found: str | None = self._get(names, str, "a string")
        return found

    def flag(self, *names: str) -> bool:
        """Return a flag by one of its names; False if there is none."""
        return self._get(names, bool, "true or false") or False

    def array(self, name: str) -> list[Any] | None:
        """Return an array; None if there is none."""
        found: list[Any] | None = self._get((name,), list, "an array")
        return found

    def _get(self, names: tuple[str, ...], kind: type, what: str) -> Any:
        for name in names:
            value = self._found.get(name)
            if value is None:
                continue
            if not isinstance(value, kind):
                raise Refused(400, f"{name} is not {what}")
            return value
        return None
