"""``headrace pyflink``: runs an unchanged PyFlink program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.run import (
    Conf,
    Local,
    Master,
    Settings,
    execute,
    export_settings,
    export_spark_settings,
    split_fresh,
)
from headrace.runners.pyflink_imports import install


def pyflink(
    program: Annotated[Path, typer.Argument(help="The program, a Python file.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="What the program finds in sys.argv.", show_default=False),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew, not from the checkpoint.")
    ] = False,
    local: Local = False,
    settings: Settings = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run PROGRAM, written for PyFlink, without a change.

    `import pyflink` then imports Headrace: in PROGRAM, in its own modules and in the workers. An
    installed PyFlink is not used. `headrace check` lists beforehand what will differ. --fresh may
    come before or after PROGRAM; after a `--` it is the program's own. The other options come
    before PROGRAM.
    """
    export_settings(local, settings or [])
    export_spark_settings(local, master, conf or [])
    fresh_given, program_arguments = split_fresh(arguments or [])
    install()
    execute(program, program_arguments, fresh=fresh or fresh_given)
