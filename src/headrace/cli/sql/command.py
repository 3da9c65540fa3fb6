"""``headrace sql``: statements from a terminal, a file, an argument, or standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.run import Conf, Local, Master, Settings, export_settings, export_spark_settings

if TYPE_CHECKING:
    from headrace.cli.sql.shell import SqlShell

File = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="Run the statements of a file, and end."),
]
Execute = Annotated[
    str | None,
    typer.Option("--execute", "-e", metavar="TEXT", help="Run these statements, and end."),
]
Init = Annotated[
    Path | None,
    typer.Option(
        "--init", "-i", metavar="FILE", help="Run the statements of a file first: DDL, SET, USE."
    ),
]
History = Annotated[
    Path | None,
    typer.Option(
        "--history",
        metavar="FILE",
        help="Where entered statements are kept; by default ~/.headrace-sql-history.",
    ),
]


def sql(
    file: File = None,
    execute: Execute = None,
    init: Init = None,
    history: History = None,
    local: Local = False,
    settings: Settings = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run statements of SQL: entered in a terminal, or of a file, an argument, standard input.

    Statements of a file run in their order, up to the first that fails: then jobs are stopped, and
    the exit code is 1. An INSERT starts a job, and the next statement runs at once, unless
    table.dml-sync is true. The command ends when all its jobs have ended.
    """
    from headrace.errors import ConfigurationError

    if file is not None and execute is not None:
        raise ConfigurationError("--file and --execute are both given", hint="give one of them")
    texts = [("--init", init), ("--file", file)]
    init_text, file_text = (_read(option, path) for option, path in texts)
    export_settings(local, settings or [])
    export_spark_settings(local, master, conf or [])
    sys.path.insert(0, os.getcwd())  # where the modules of functions are, as for python -c
    text = execute if file_text is None else file_text
    if text is None and not sys.stdin.isatty():
        text = sys.stdin.read()
    if not _run(init_text, text, history, "<sql>" if file is None else str(file)):
        raise SystemExit(1)


def _read(option: str, path: Path | None) -> str | None:
    from headrace.errors import ConfigurationError

    if path is None:
        return None
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the file of {option} cannot be read: {error}") from None


def _run(init: str | None, text: str | None, history: Path | None, name: str) -> bool:
    """Run statements, or a shell if ``text`` is None; return False if one has failed.

    ``name``: how errors of jobs name the text.
    """
    from rich.console import Console

    from headrace.cli.sql.history import HistoryFile, default_file
    from headrace.cli.sql.shell import SqlShell
    from headrace.cli.sql.terminal import Terminal
    from headrace.common._options.catalogue import UI_TERMINAL
    from headrace.datastream._build.job_settings import environment_settings
    from headrace.runners.signals import ending_signals
    from headrace.sql.dialect.splitting import pieces_of
    from headrace.table.table_environment import TableEnvironment

    configuration = environment_settings()
    if not configuration.contains_key(UI_TERMINAL.key):
        configuration.set_string(UI_TERMINAL.key, "off")  # results are in the terminal
    env = TableEnvironment.create(configuration)
    env._session.settings.fixed_mode = False
    out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)
    shell = SqlShell(env, out, err, interactive=text is None)
    with ending_signals():
        try:
            if init is not None and not shell.run_all(pieces_of(init), init=True):
                return False
            if text is not None:
                return _run_text(shell, text, name)
            file = HistoryFile(default_file() if history is None else history)
            Terminal(shell, env._session.catalogs, file, out).run()
            return True
        finally:
            shell.stop_jobs()


def _run_text(shell: SqlShell, text: str, name: str) -> bool:
    from headrace.sql.dialect.splitting import pieces_of

    try:
        return shell.run_all(pieces_of(text), file=name) and shell.wait_for_jobs()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
