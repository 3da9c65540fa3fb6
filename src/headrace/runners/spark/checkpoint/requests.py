"""What another process asks of a job's driver: objects beside its checkpoint, and their answers.

    requests/<id>/asked     the request
    requests/<id>/answer    what has become of it

The driver looks for new requests twice a second (on remote storage every two seconds). One that was
asked while no driver ran is refused by the next driver: nobody waits for it any more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from headrace.common._storage.object_store import ObjectStore
from headrace.common._storage.sealed import ObjectFormat, get_json, put_json
from headrace.runners.spark.checkpoint.layout import REQUESTS

_REQUEST = ObjectFormat("request")
_ANSWER = ObjectFormat("answer")
_KEPT = 16


class RequestKind(Enum):
    """What is asked for."""

    SAVEPOINT = "savepoint"
    STOP = "stop"
    STOP_WITH_SAVEPOINT = "stop-with-savepoint"
    RESCALE = "rescale"


class RequestStatus(Enum):
    """What has become of a request."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Request:
    """A request. ``target``: the folder of the savepoint; None: where the job's settings say.

    ``drain``: of a stop: whether windows and timers fire before. ``parallelism``: the one that a
    job is rescaled to.
    """

    id: str
    kind: RequestKind
    target: str | None = None
    drain: bool = False
    asked_ms: int = 0
    parallelism: int | None = None


@dataclass(frozen=True)
class Answer:
    """The answer. ``savepoint``: its folder, once it is there. ``error``: why there is none.

    ``pause_ms``: how long the job waited for the savepoint; None if it was stopped.
    """

    status: RequestStatus
    savepoint: str | None = None
    error: str | None = None
    pause_ms: int | None = None


def new_request(
    kind: RequestKind,
    target: str | None = None,
    drain: bool = False,
    parallelism: int | None = None,
) -> Request:
    """Return a request with a new id; ids sort by their time."""
    now_ms = time.time_ns() // 1_000_000
    id_ = f"{now_ms:014d}-{os.urandom(4).hex()}"
    return Request(id_, kind, target, drain, now_ms, parallelism)


def ask(store: ObjectStore, request: Request) -> None:
    """Store a request for the driver."""
    fields = {**asdict(request), "kind": request.kind.value}
    put_json(store, f"{REQUESTS}/{request.id}/asked", _REQUEST, fields)


def open_requests(store: ObjectStore) -> Iterator[Request]:
    """Yield the requests without an answer, the oldest first."""
    names = store.list(f"{REQUESTS}/")
    answered = {name.split("/")[1] for name in names if name.endswith("/answer")}
    for name in names:
        if not name.endswith("/asked") or name.split("/")[1] in answered:
            continue
        fields: dict[str, Any] | None = get_json(store, name, _REQUEST)
        if fields is not None:
            yield Request(**{**fields, "kind": RequestKind(fields["kind"])})


def put_answer(store: ObjectStore, request_id: str, answer: Answer) -> None:
    """Store an answer; an earlier one is replaced. Old requests are removed."""
    fields = {**asdict(answer), "status": answer.status.value}
    put_json(store, f"{REQUESTS}/{request_id}/answer", _ANSWER, fields)
    names = store.list(f"{REQUESTS}/")
    ids = sorted({name.split("/")[1] for name in names})
    old = {*ids[:-_KEPT]}
    for name in names:
        if name.split("/")[1] in old:
            store.delete(name)


def answer_of(store: ObjectStore, request_id: str) -> Answer | None:
    """Return the answer to a request; None if there is none yet."""
    fields: dict[str, Any] | None = get_json(store, f"{REQUESTS}/{request_id}/answer", _ANSWER)
    if fields is None:
        return None
    return Answer(**{**fields, "status": RequestStatus(fields["status"])})
