"""Adds operator, key and record to an exception that the user's code raises in a task.

The operators' loops have no ``try``. When an exception arrives at the task, the frames of its
traceback show which operator was processing which record. A frame belongs to an operator if it has
a local variable ``node`` that is a ``NodeProgram``; the innermost such frame is used. When windows
fire, the frame also has the variables ``key`` and ``window``.
"""

from __future__ import annotations

import pickle
import re
import traceback
from types import FrameType, TracebackType
from typing import Any

from headrace.errors import JobError
from headrace.runtime.loops import GENERATED_PREFIX
from headrace.runtime.operator import NodeProgram, Operator
from headrace.runtime.program import SinkProgram
from headrace.runtime.state.fields import missing_fields

_SHOWN_CHARACTERS = 500
_OURS = "headrace."
_WINDOWS = "headrace.operators.windows."
_FIRED = ("key", "window")


def annotate(error: BaseException) -> None:
    """Add operator, uid, key, window and record, once, to an exception raised in a chain."""
    _hint_at_local_class(error)
    _hint_at_new_field(error)
    if getattr(error, "_headrace_annotated", False):
        return
    variables = _find_operator_variables(error.__traceback__)
    if variables is None:
        return
    node: NodeProgram = variables["node"]
    built = f", built at {node.site}" if node.site else ""
    lines = [f"{node.kind + ':':<9} {node.name} (uid={node.uid or 'none'}){built}"]
    operator = variables.get("self")
    if isinstance(operator, Operator):
        details = operator.failure_details().items()
        lines += [f"{label + ':':<9} {detail}" for label, detail in details]
    if "key" in variables:
        lines.append(f"key:      {_shorten(variables['key'])}")
    if "window" in variables:
        lines.append(f"window:   {_shorten(variables['window'])}")
    if "value" in variables:
        lines.append(f"record:   {_shorten(variables['value'])}")
    stamp = variables.get("timestamp")
    if stamp is not None:
        lines.append(f"time:     {stamp} ms")
    if _is_not_iterable_error(error):
        lines.append("hint:     yield each result, or return a list of them")
    error.add_note("\n".join(lines))
    error._headrace_annotated = True  # type: ignore[attr-defined]


def is_sink_error(error: BaseException) -> bool:
    """Return whether the exception was raised while a record was encoded for a sink."""
    variables = _find_operator_variables(error.__traceback__)
    return variables is not None and variables["node"].kind == "sink"


def unwrap_user_error(error: BaseException) -> BaseException:
    """Return the user's exception, if Python has replaced it on its way up.

    A ``StopIteration`` that leaves a generator becomes a ``RuntimeError`` (PEP 479). If the
    generator is Headrace's, and not the user's, that hides what happened.
    """
    cause, of_user = error.__cause__, error
    while isinstance(of_user, RuntimeError) and isinstance(cause, StopIteration):
        trace = cause.__traceback__
        # Its outermost frame is the generator that it left last.
        if trace is None or not str(trace.tb_frame.f_globals.get("__name__")).startswith(_OURS):
            break
        of_user, cause = cause, cause.__cause__
    return of_user


class unwrapping_user_errors:
    """Raise the user's exception, not its replacement (``unwrap_user_error``), from a ``with``.

    A class, since a generator with ``contextmanager`` could not raise a ``StopIteration`` either.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and (found := unwrap_user_error(error)) is not error:
            annotate(found)
            raise found


def to_job_failure(error: BaseException) -> BaseException:
    """Return the exception that a job fails with if a task raised ``error``.

    ``sys.exit`` in a function would end the process that happens to run it. An interrupt is meant
    for the program, and not for its functions. Both become errors of the job.
    """
    error = unwrap_user_error(error)
    annotate(error)
    if isinstance(error, Exception):
        return error
    said = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else type(error).__name__
    failure = JobError(
        f"a function of the job raised {said}, which is for a program to end with",
        hint="raise an exception to fail the job, or leave the record out to continue",
    )
    for note in getattr(error, "__notes__", []):
        failure.add_note(note)
    failure._headrace_annotated = True  # type: ignore[attr-defined]
    return failure.with_traceback(error.__traceback__)


class sink_error_notes:  # a function to its callers
    """Add a note with the sink to exceptions raised within a ``with`` block.

    ``doing``: what is done with the sink, such as ``writing``. It is a class for the same reason
    as ``unwrapping_user_errors``.
    """

    def __init__(self, sink: SinkProgram, doing: str) -> None:
        self._sink, self._doing = sink, doing

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or getattr(error, "_headrace_annotated", False):
            return
        sink = self._sink
        built = f", built at {sink.site}" if sink.site else ""
        lines = [f"sink:     {sink.name} (uid={sink.uid or 'none'}){built}, {self._doing}"]
        record = _find_current_record(error.__traceback__)
        if record:
            lines.append(f"record:   {_shorten(*record)}")
        error.add_note("\n".join(lines))
        error._headrace_annotated = True  # type: ignore[attr-defined]


def _find_current_record(trace: TracebackType | None) -> tuple[Any] | tuple[()]:
    """Return the variable ``value`` of the innermost connector or format frame that has it."""
    found: tuple[Any] | tuple[()] = ()
    while trace is not None:
        variables = trace.tb_frame.f_locals
        if "value" in variables and _is_sink_frame(trace.tb_frame):
            found = (variables["value"],)
        trace = trace.tb_next
    return found


def _is_sink_frame(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module.startswith(("headrace.datastream.connectors.", "headrace.datastream.formats."))


def user_traceback(error: BaseException) -> str:
    """Return the traceback as text, starting at the user's code, with the notes."""
    return "".join(traceback.format_exception(type(error), error, user_frames(error)))


def user_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback from the first frame after the innermost operator's on."""
    trace = error.__traceback__
    innermost = trace
    walk = trace
    while walk is not None:
        if isinstance(walk.tb_frame.f_locals.get("node"), NodeProgram):
            innermost = walk.tb_next or walk
        walk = walk.tb_next
    return innermost


def _find_operator_variables(trace: TracebackType | None) -> dict[str, Any] | None:
    """Return the local variables of the innermost operator's frame, with key and window."""
    found: dict[str, Any] | None = None
    while trace is not None:
        frame = trace.tb_frame
        if isinstance(frame.f_locals.get("node"), NodeProgram):
            found = dict(frame.f_locals)
            if frame.f_code.co_filename.startswith(GENERATED_PREFIX) and not _is_keyed(
                found["node"]
            ):
                found.pop("key", None)  # of the keyed operator, which is part of the same function
        elif found is not None and str(frame.f_globals.get("__name__")).startswith(_WINDOWS):
            found |= {name: frame.f_locals[name] for name in _FIRED if name in frame.f_locals}
        trace = trace.tb_next
    return found


def _is_keyed(node: NodeProgram) -> bool:
    return node.spec is not None and node.spec.traits.keyed


def _is_not_iterable_error(error: BaseException) -> bool:
    """Return whether an operator could not iterate over the ``results`` of a function."""
    if type(error) is not TypeError:
        return False
    *_, (frame, _line) = traceback.walk_tb(error.__traceback__)
    made_here = frame.f_code.co_filename.startswith(GENERATED_PREFIX)
    if not made_here and not str(frame.f_globals.get("__name__")).startswith("headrace.operators."):
        return False
    given = [v for name, v in frame.f_locals.items() if name.startswith("results")]
    return any(v is not None and not hasattr(type(v), "__iter__") for v in given)


_LOCAL_CLASS = re.compile(r"Can't (?:pickle|get) local (?:object|attribute) .*?(\w+)\W*$")


def _hint_at_local_class(error: BaseException) -> None:
    """Add a hint if pickle failed because a class is defined inside a function."""
    found = _LOCAL_CLASS.match(str(error))
    if found is None or not isinstance(error, AttributeError | pickle.PicklingError):
        return
    hint = (
        f"hint:     define {found[1]} at the top level of its module: objects of a class that is"
        " defined inside a function cannot leave the worker that made them"
    )
    if hint not in getattr(error, "__notes__", []):
        error.add_note(hint)


def _hint_at_new_field(error: BaseException) -> None:
    """Add a hint if an object lacks a field that was added to its dataclass later."""
    if not isinstance(error, AttributeError) or error.name not in missing_fields(error.obj):
        return
    hint = (
        f"hint:     this {type(error.obj).__qualname__} was stored before its class had the field"
        f" {error.name!r}: give it a plain default, or set it in __setstate__"
    )
    if hint not in getattr(error, "__notes__", []):
        error.add_note(hint)


def _shorten(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a user's __repr__ must not hide the user's exception
        text = f"<{type(value).__name__} whose repr() raised {type(error).__name__}>"
    text = text.replace("\n", "\\n")  # Spark's log and the page hide the line of a value
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
