"""What a user sees when code of theirs fails in a task.

The operators' loops hold no ``try``: when an exception arrives at the task, the frames of its
traceback tell which operator was at work on which record. A frame belongs to an operator when
it has a local variable ``node`` that is a ``NodeProgram``; the innermost such frame counts.
"""

from __future__ import annotations

import pickle
import re
import traceback
from types import FrameType, TracebackType
from typing import Any

from headrace.runtime.chain.loops import GENERATED
from headrace.runtime.operator import NodeProgram

_SHOWN_CHARACTERS = 500


def annotate(error: BaseException) -> None:
    """Add operator, uid, key and record to an exception that came out of a chain (once)."""
    _hint_at_local_class(error)
    if getattr(error, "_headrace_noted", False):
        return
    frame = _operator_frame(error.__traceback__)
    if frame is None:
        return
    variables = frame.f_locals
    node: NodeProgram = variables["node"]
    lines = [f"operator: {node.name} (uid={node.uid or 'none'}), built at {node.site}"]
    if "key" in variables:
        lines.append(f"key:      {_shown(variables['key'])}")
    if "value" in variables:
        lines.append(f"record:   {_shown(variables['value'])}")
    stamp = variables.get("timestamp")
    if stamp is not None:
        lines.append(f"time:     {stamp} ms")
    if _gave_no_iterable(error):
        lines.append("hint:     yield each result, or return a list of them")
    error.add_note("\n".join(lines))
    error._headrace_noted = True  # type: ignore[attr-defined]


def user_traceback(error: BaseException) -> str:
    """The traceback as text, from the first frame of the user's code on, with the notes."""
    trace = error.__traceback__
    innermost = trace
    walk = trace
    while walk is not None:
        if isinstance(walk.tb_frame.f_locals.get("node"), NodeProgram):
            innermost = walk.tb_next or walk
        walk = walk.tb_next
    return "".join(traceback.format_exception(type(error), error, innermost))


def _operator_frame(trace: TracebackType | None) -> FrameType | None:
    found = None
    while trace is not None:
        if isinstance(trace.tb_frame.f_locals.get("node"), NodeProgram):
            found = trace.tb_frame
        trace = trace.tb_next
    return found


def _gave_no_iterable(error: BaseException) -> bool:
    """Whether it was an operator's loop that could not go through a function's ``results``."""
    if type(error) is not TypeError:
        return False
    *_, (frame, _line) = traceback.walk_tb(error.__traceback__)
    made_here = frame.f_code.co_filename.startswith(GENERATED)
    if not made_here and not str(frame.f_globals.get("__name__")).startswith("headrace.operators."):
        return False
    given = [v for name, v in frame.f_locals.items() if name.startswith("results")]
    return any(v is not None and not hasattr(type(v), "__iter__") for v in given)


_LOCAL_CLASS = re.compile(r"Can't (?:pickle|get) local (?:object|attribute) .*?(\w+)\W*$")


def _hint_at_local_class(error: BaseException) -> None:
    """Add what to do about an object that pickle cannot write, as its class is in a function."""
    found = _LOCAL_CLASS.match(str(error))
    if found is None or not isinstance(error, AttributeError | pickle.PicklingError):
        return
    hint = (
        f"hint:     define {found[1]} at the top level of its module: objects of a class that is"
        " defined inside a function cannot leave the worker that made them"
    )
    if hint not in getattr(error, "__notes__", []):
        error.add_note(hint)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a user's __repr__ must not hide the user's exception
        text = f"<{type(value).__name__} whose repr() raised {type(error).__name__}>"
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
