"""The place in the user's program where a node was created."""

from __future__ import annotations

import sys

from headrace.graph.transformation import CallSite

_ENGINE = ("headrace.datastream", "headrace.cep", "headrace.testing")


def call_site() -> CallSite:
    """Return the innermost frame outside the API."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_api(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return CallSite(frame.f_code.co_filename, frame.f_lineno)


def _is_api(module: str) -> bool:
    # programs inside the package (headrace.demo) count as user code
    return module == "headrace" or module.startswith(_ENGINE)
