"""The place in the user's program where a node was created."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from headrace.graph.transformation import CallSite

_ENGINE = (
    "headrace.datastream",
    "headrace.cep",
    "headrace.sql",
    "headrace.table",
    "headrace.testing",
)

_statement: ContextVar[CallSite | None] = ContextVar("statement", default=None)


@contextmanager
def at_statement(file: str, line: int) -> Iterator[None]:
    """Let nodes that are made in the ``with`` block name a statement of a file, not a line of
    Python."""
    token = _statement.set(CallSite(file, line))
    try:
        yield
    finally:
        _statement.reset(token)


def call_site() -> CallSite:
    """Return the innermost frame outside the API, or the statement that runs."""
    statement = _statement.get()
    if statement is not None:
        return statement
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_api(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return CallSite(frame.f_code.co_filename, frame.f_lineno)


def _is_api(module: str) -> bool:
    # programs inside the package (headrace.demo) count as user code
    return module == "headrace" or module.startswith(_ENGINE)
