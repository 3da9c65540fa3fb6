"""``headrace run``: runs a program as ``python`` does, with additional options."""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer

from headrace.common._options.catalogue import (
    FRESH_VARIABLE,
    LOCAL_VARIABLE,
    SETTINGS_VARIABLE,
    STOP_DRAIN,
    UI_VARIABLE,
)
from headrace.errors import ConfigurationError

Local = Annotated[bool, typer.Option("--local", help="Run jobs in this process, without Spark.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="KEY=VALUE", help="A setting that the program does not set itself."),
]

Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Spark's master: the cluster that runs the jobs."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark, as for spark-submit."),
]

NoDrain = Annotated[
    bool,
    typer.Option(
        "--no-drain",
        help="Keep windows and timers open where sources stop: a later run goes on there.",
    ),
]

# Arguments after the program belong to it, including `--help`.
CONTEXT_SETTINGS = {"allow_interspersed_args": False}


def run(
    program: Annotated[Path, typer.Argument(help="A Python file.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="The program's own arguments.", show_default=False),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew, without the checkpoint.")
    ] = False,
    local: Local = False,
    no_drain: NoDrain = False,
    settings: Settings = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run PROGRAM; started again, it goes on from its checkpoint unless --fresh is given.

    Options come before PROGRAM; what follows is the program's own. Only --fresh may also follow,
    unless a `--` stands before it. It does not remove what sinks have written.
    """
    drained = [f"{STOP_DRAIN.key}=false"] if no_drain else []
    export_settings(local, [*(settings or []), *drained])
    export_spark_settings(local, master, conf or [])
    fresh_given, program_arguments = split_fresh(arguments or [])
    for option in ("--local", "--no-drain", "--master", "--conf"):
        if (
            option
            in program_arguments[
                : program_arguments.index("--") if "--" in program_arguments else None
            ]
        ):
            note = f"headrace: {option} after {program} is passed to the program; ours comes before"
            print(note, file=sys.stderr)
    execute(program, program_arguments, fresh=fresh or fresh_given)


def export_settings(local: bool, settings: list[str]) -> None:
    """Store the settings of the program's jobs in the environment.

    Raises:
        ConfigurationError: a setting is not ``key=value``, or unknown.
    """
    # Without options, none of it is needed.
    from headrace.common.configuration import Configuration

    if local:
        os.environ[LOCAL_VARIABLE] = "1"
    if not settings:
        return
    pairs = [setting.partition("=") for setting in settings]
    for key, equals, _ in pairs:
        if not equals:
            raise ConfigurationError(f"-D {key} has no value", hint="-D key=value")
    given = {key.strip(): value for key, _, value in pairs}
    Configuration.from_dict(given)
    os.environ[SETTINGS_VARIABLE] = json.dumps(given)


def export_spark_settings(local: bool, master: str | None, settings: list[str]) -> None:
    """Store Spark's master and settings where Spark looks for those of a submitted program.

    A session that the program makes by itself has them, too.

    Raises:
        ConfigurationError: a setting is not ``spark.key=value``, or jobs do not run on Spark.
    """
    if master is None and not settings:
        return
    if local:
        raise ConfigurationError(
            "--local runs jobs without Spark, so --master and --conf have no effect",
            hint="leave out --local, or both of them",
        )
    for setting in settings:
        key, equals, _ = setting.partition("=")
        if not equals or not key.strip().startswith("spark."):
            raise ConfigurationError(
                f"--conf {key} is no setting of Spark",
                hint="--conf spark.key=value; settings of Headrace are given as -D key=value",
            )
    from headrace.runners.spark.startup.outside_settings import SUBMIT_ARGUMENTS, with_arguments

    added = ["--master", master] if master is not None else []
    for setting in settings:
        added += ["--conf", setting]
    os.environ[SUBMIT_ARGUMENTS] = with_arguments(os.environ.get(SUBMIT_ARGUMENTS, ""), added)


def split_fresh(arguments: list[str]) -> tuple[bool, list[str]]:
    """Return True if ``--fresh`` comes before any ``--``, and the other arguments."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--fresh"]
    return len(kept) < end, kept + arguments[end:]


def execute(program: Path, arguments: list[str], *, fresh: bool) -> None:
    """Run a program in this process as ``python program arguments`` would.

    Its exception is passed to ``sys.excepthook`` with a traceback that begins in the program.

    Raises:
        ConfigurationError: there is no such file.
        SystemExit: with 1 if the program raised; the program's own exit is not changed.
    """
    if not program.is_file():
        raise ConfigurationError(
            f"there is no program at {program}",
            hint="headrace run PROGRAM.py [ARGUMENTS] [--fresh]",
        )
    if fresh:
        os.environ[FRESH_VARIABLE] = "1"
    os.environ.setdefault(UI_VARIABLE, "1")
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    try:
        # As __main__, so that its functions are pickled by value: no worker could import it.
        runpy.run_path(str(program), run_name="__main__")
    except Exception as error:
        # Also set on the exception: Python's hook prints that one, not its third argument.
        error.__traceback__ = _from_first_frame_of(error.__traceback__, program)
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None


def _from_first_frame_of(trace: TracebackType | None, program: Path) -> TracebackType | None:
    """Return the traceback from the program's first frame on, or all of it without such a frame."""
    # In some versions of Python runpy uses the given path, in others the absolute one.
    names = {str(program), os.path.abspath(program)}
    step = trace
    while step is not None and step.tb_frame.f_code.co_filename not in names:
        step = step.tb_next
    return step or trace
