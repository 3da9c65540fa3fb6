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

from headrace.cli.places import AllowPickles
from headrace.common._options.catalogue import (
    FRESH_VARIABLE,
    IGNORE_UNCLAIMED_STATE,
    LOCAL_VARIABLE,
    RESTORE_ALLOW_PICKLES,
    RESTORE_MODE,
    RESTORE_PATH,
    SETTINGS_VARIABLE,
    STANDBY_VARIABLE,
    START_VARIABLE,
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
        help="Keep windows and timers open when sources stop: a later run continues there.",
    ),
]

FromSavepoint = Annotated[
    str | None,
    typer.Option(
        "--from-savepoint", metavar="URL", help="Begin from a savepoint, if there is no checkpoint."
    ),
]
AllowNonRestored = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state",
        help="Drop the state of operators, sources and sinks that the program no longer has.",
    ),
]
ClaimMode = Annotated[
    str | None,
    typer.Option(
        "--claim-mode",
        help="no-claim (default): the savepoint stays; claim: it is removed once the job has"
        " committed its first micro-batch.",
    ),
]

Supervise = Annotated[
    bool,
    typer.Option(
        "--supervise",
        help="Start the program again when its process, or Spark's JVM, has died.",
    ),
]
MaxRestarts = Annotated[
    int,
    typer.Option(
        "--max-restarts",
        min=0,
        metavar="N",
        help="With --supervise: the most restarts in a row, less than ten minutes apart.",
    ),
]
Standby = Annotated[
    bool,
    typer.Option(
        "--standby", help="Wait while another driver runs on the checkpoint, and then take over."
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
        bool, typer.Option("--fresh", help="Start anew: remove the checkpoint and restore points.")
    ] = False,
    local: Local = False,
    no_drain: NoDrain = False,
    settings: Settings = None,
    master: Master = None,
    conf: Conf = None,
    from_savepoint: FromSavepoint = None,
    allow_non_restored_state: AllowNonRestored = False,
    claim_mode: ClaimMode = None,
    allow_pickles: AllowPickles = False,
    supervise: Supervise = False,
    max_restarts: MaxRestarts = 10,
    standby: Standby = False,
) -> None:
    """Run PROGRAM. It continues from its checkpoint, unless --fresh is given.

    Options come before PROGRAM; arguments after PROGRAM belong to the program. Only --fresh may
    also follow PROGRAM, unless a `--` comes before it. --fresh does not remove the results in
    sinks.
    """
    given = [f"{STOP_DRAIN.key}=false"] if no_drain else []
    if from_savepoint is not None:
        given.append(f"{RESTORE_PATH.key}={from_savepoint}")
    elif claim_mode is not None:
        raise ConfigurationError("--claim-mode needs a savepoint", hint="give --from-savepoint")
    if allow_non_restored_state:
        given.append(f"{IGNORE_UNCLAIMED_STATE.key}=true")
    if allow_pickles:
        given.append(f"{RESTORE_ALLOW_PICKLES.key}=true")
    if claim_mode is not None:
        given.append(f"{RESTORE_MODE.key}={claim_mode.upper().replace('-', '_')}")
    export_settings(local, [*(settings or []), *given])
    export_spark_settings(local, master, conf or [])
    if standby:
        os.environ[STANDBY_VARIABLE] = "1"
    fresh_given, program_arguments = split_fresh(arguments or [])
    for option in (
        *("--local", "--no-drain", "--master", "--conf", "--from-savepoint"),
        *("--supervise", "--standby"),
    ):
        if (
            option
            in program_arguments[
                : program_arguments.index("--") if "--" in program_arguments else None
            ]
        ):
            note = (
                f"headrace: {option} after {program} is passed to the program; as an option of"
                f" headrace run, put it before {program}"
            )
            print(note, file=sys.stderr)
    fresh = fresh or fresh_given
    if supervise:
        from headrace.cli.supervise import Supervisor

        if fresh:
            os.environ[FRESH_VARIABLE] = "1"
        # All other options are in the environment by now.
        command = [sys.executable, "-m", "headrace", "run", str(program), *program_arguments]
        raise SystemExit(Supervisor(command, max_restarts).run())
    execute(program, program_arguments, fresh=fresh)


def export_settings(local: bool, settings: list[str]) -> None:
    """Add the settings of the program's jobs to those that the environment has.

    Raises:
        ConfigurationError: a setting is not ``key=value``, or unknown.
    """
    if local:
        os.environ[LOCAL_VARIABLE] = "1"
    if not settings:
        return
    # Without options, none of it is needed.
    from headrace.common.configuration import Configuration
    from headrace.datastream._build.job_settings import environment_settings

    pairs = [setting.partition("=") for setting in settings]
    for key, equals, _ in pairs:
        if not equals:
            raise ConfigurationError(f"-D {key} has no value", hint="-D key=value")
    given = {key.strip(): value for key, _, value in pairs}
    configuration = environment_settings()
    configuration.add_all(Configuration.from_dict(given))
    os.environ[SETTINGS_VARIABLE] = json.dumps(configuration.to_dict())


def export_spark_settings(local: bool, master: str | None, settings: list[str]) -> None:
    """Store Spark's master and settings in the environment, as for a submitted program.

    A session that the program itself makes gets them too.

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
                f"--conf {key} is not a setting of Spark",
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
        SystemExit: with 1 if the program raised, or with what its supervisor is to know; the
            program's own exit is not changed.
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
        if START_VARIABLE in os.environ:
            from headrace.cli.supervise import exit_code_of

            raise SystemExit(exit_code_of(error)) from None
        raise SystemExit(1) from None


def _from_first_frame_of(trace: TracebackType | None, program: Path) -> TracebackType | None:
    """Return the traceback from the program's first frame on, or all of it without such a frame."""
    # In some versions of Python runpy uses the given path, in others the absolute one.
    names = {str(program), os.path.abspath(program)}
    step = trace
    while step is not None and step.tb_frame.f_code.co_filename not in names:
        step = step.tb_next
    return step or trace
