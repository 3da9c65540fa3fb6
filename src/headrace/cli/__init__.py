"""The ``headrace`` command.

Each command is in a separate file, and imports what it needs when it runs: ``headrace doctor`` must
work even if nothing else does.
"""

from __future__ import annotations

import sys

import typer

from headrace.cli import (
    checkpoints,
    demo,
    dev,
    doctor,
    init,
    jobs,
    package,
    prepare,
    pyflink,
    replay,
    run,
    savepoints,
    state,
)
from headrace.cli.check import command
from headrace.cli.sql import command as sql_command
from headrace.errors import HeadraceError

app = typer.Typer(
    name="headrace",
    help="Flink's DataStream model in Python, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    # A job's traceback must be plain: without a frame, local variables, or omissions.
    pretty_exceptions_enable=False,
)
app.command("check")(command.check)
app.command("doctor")(doctor.doctor)
app.command("init")(init.init)
app.command("package")(package.package)
app.command("prepare")(prepare.prepare)
app.command("run", context_settings=run.CONTEXT_SETTINGS)(run.run)
app.command("pyflink", context_settings=run.CONTEXT_SETTINGS)(pyflink.pyflink)
app.command("sql")(sql_command.sql)
app.command("replay")(replay.replay)
app.add_typer(jobs.app, name="jobs")
app.add_typer(checkpoints.app, name="checkpoints")
app.command("savepoint")(savepoints.savepoint)
app.command("stop")(savepoints.stop)
app.command("rescale")(savepoints.rescale)
app.add_typer(savepoints.app, name="savepoints")
app.add_typer(state.app, name="state")
app.command("compare")(state.compare)
app.add_typer(demo.app, name="demo")
app.add_typer(dev.app, name="dev")


def main() -> None:
    """Run this process's command line; errors of Headrace are printed without a traceback."""
    try:
        app(prog_name="headrace")
    except HeadraceError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
