"""``headrace replay``: repeats a failed call of a keyed task in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headrace.runtime.tasks.capture import FailedCall

STATE_IS_MISSING = 3
"""The exit status if the call needs state that the file does not contain."""


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The exception's note names it.")],
    pdb: Annotated[
        bool, typer.Option("--pdb", help="Open the debugger where the function failed.")
    ] = False,
) -> None:
    """Repeat a failed call, without Spark, with the input and the state that it had.

    FILE is the file that a keyed task wrote when it failed (headrace.failure.capture-dir). It has
    the functions and classes of the program's script, as they were. Modules are imported from the
    working directory first, so a corrected module is run as it is now. FILE contains code: replay
    only files that you trust. It has no passwords of lookups: they are read from environment
    variables, and the names of missing variables are printed.

    The exit status is 1 if the call fails again, 0 if it does not, and 3 if it needs state that
    FILE does not contain.
    """
    from headrace.runners import captures

    sys.path.insert(0, os.getcwd())
    call = captures.read_call(str(file))
    _print_call(call)

    def run() -> bool:
        repeated = captures.replay_of(call)
        print(f"records:  {repeated.records}", flush=True)
        for missing in repeated.missing:
            print(f"missing:  {missing}", flush=True)
        try:
            for _ in repeated.run():
                pass
        except Exception:
            if not repeated.lacks_state:
                raise
            return False
        repeated.close()
        return True

    if _run_or_show_error(run, pdb):
        print(
            "\nIt no longer fails. The file does not contain what functions kept in their"
            " attributes between calls, nor answers of other systems."
        )
        return
    print(
        "\nThe call needs state that the file does not contain: it did not read it when it"
        " failed. So it is not known whether the call would succeed."
    )
    raise typer.Exit(STATE_IS_MISSING)


def _print_call(call: FailedCall) -> None:
    at = datetime.fromtimestamp(call.now_ms / 1000, UTC)
    print(f"job:      {call.job}, at {at:%Y-%m-%d %H:%M:%S} UTC")
    print(f"operator: {call.operator}")
    print(f"group:    {call.group} of {call.groups}")
    print(f"failed:   {call.failure}", flush=True)


def _run_or_show_error(run: Callable[[], bool], pdb: bool) -> bool:
    """Return the result of ``run``.

    An exception is printed, and opened in the debugger if requested.

    Raises:
        Exit: with 1, if it raised.
    """
    from headrace.runtime.failure import to_job_failure
    from headrace.tracebacks import format_error

    try:
        return run()
    except (Exception, SystemExit) as error:
        failure = to_job_failure(error)
        if isinstance(failure, ModuleNotFoundError):
            failure.add_note(
                "hint:     modules are looked for in the working directory and on PYTHONPATH:"
                " replay in the folder of the program"
            )
        full_traceback = failure.__traceback__
        print(f"\n{format_error(failure)}", end="", file=sys.stderr, flush=True)
        if pdb:
            _debug(failure.__traceback__ or full_traceback)
        raise typer.Exit(1) from None


def _debug(trace: TracebackType | None) -> None:
    """Open the debugger at the innermost frame of the user's own code."""
    import pdb

    from headrace.tracebacks import frames_after_user_code

    debugger = pdb.Pdb()
    debugger.reset()
    debugger.rcLines += ["up"] * frames_after_user_code(trace)
    debugger.interaction(None, trace)
