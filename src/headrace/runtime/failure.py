"""What a user sees when code of theirs fails in a task.

The operators' loops hold no ``try``: when an exception arrives at the task, the frames of its
traceback tell which operator was at work on which record. A frame belongs to an operator when
it has a local variable ``node`` that is a ``NodeProgram``; the innermost such frame counts.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from headrace.errors import JobError
from headrace.runtime.chain.loops import GENERATED
from headrace.runtime.operator import NodeProgram
from headrace.runtime.program import SinkProgram

_SHOWN_CHARACTERS = 500


def annotate(error: BaseException) -> None:
    """Add operator, uid, key and record to an exception that came out of a chain (once)."""
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


def failure_of(error: BaseException) -> BaseException:
    """What a job fails with where a task raised ``error``; operator and record are its notes.

    ``sys.exit`` in a function would end the process that happens to run it, and an interrupt is for
    the program and not for its functions: both are errors of the job.
    """
    annotate(error)
    if isinstance(error, Exception):
        return error
    said = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else type(error).__name__
    failure = JobError(
        f"a function of the job raised {said}, which is for a program to end with",
        hint="raise an exception to fail the job, or leave the record out to go on",
    )
    for note in getattr(error, "__notes__", []):
        failure.add_note(note)
    failure._headrace_noted = True  # type: ignore[attr-defined]
    return failure.with_traceback(error.__traceback__)


@contextmanager
def at_sink(sink: SinkProgram, doing: str) -> Iterator[None]:
    """Name the sink in the notes of what is raised meanwhile; ``doing``: such as ``writing``."""
    try:
        yield
    except BaseException as error:
        if not getattr(error, "_headrace_noted", False):
            built = f", built at {sink.site}" if sink.site else ""
            lines = [f"sink:     {sink.name} (uid={sink.uid or 'none'}){built}, {doing}"]
            record = _record_in_hand(error.__traceback__)
            if record:
                lines.append(f"record:   {_shown(*record)}")
            error.add_note("\n".join(lines))
            error._headrace_noted = True  # type: ignore[attr-defined]
        raise


def _record_in_hand(trace: TracebackType | None) -> tuple[Any] | tuple[()]:
    """The variable ``value`` of the innermost frame of a connector or a format that has one."""
    found: tuple[Any] | tuple[()] = ()
    while trace is not None:
        variables = trace.tb_frame.f_locals
        if "value" in variables and _serves_sinks(trace.tb_frame):
            found = (variables["value"],)
        trace = trace.tb_next
    return found


def _serves_sinks(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module.startswith(("headrace.datastream.connectors.", "headrace.datastream.formats."))


def user_traceback(error: BaseException) -> str:
    """The traceback as text, from the first frame of the user's code on, with the notes."""
    return "".join(traceback.format_exception(type(error), error, user_frames(error)))


def user_frames(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame after the innermost operator's on."""
    trace = error.__traceback__
    innermost = trace
    walk = trace
    while walk is not None:
        if isinstance(walk.tb_frame.f_locals.get("node"), NodeProgram):
            innermost = walk.tb_next or walk
        walk = walk.tb_next
    return innermost


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


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a user's __repr__ must not hide the user's exception
        text = f"<{type(value).__name__} whose repr() raised {type(error).__name__}>"
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
