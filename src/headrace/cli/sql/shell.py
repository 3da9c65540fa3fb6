"""Runs statements one after the other, and shows what they give."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from headrace.cli.sql.results import ChangelogView, TableView, print_as_they_come, show_live
from headrace.common._options import catalogue as options
from headrace.common._options.table import MAX_TABLE_ROWS, RESULT_MODE, VERBOSE
from headrace.common.completable_future import CompletableFuture
from headrace.datastream._build.call_site import at_statement
from headrace.errors import SqlValidationError
from headrace.sql import statements as parsed
from headrace.sql.dialect.splitting import Piece
from headrace.sql.parsing import expected_after, parse
from headrace.table.result_kind import ResultKind
from headrace.table.table_result import TableResult

if TYPE_CHECKING:
    from headrace.table._planning.jobs import StartedJob
    from headrace.table.table_environment import TableEnvironment

COMMANDS = {
    "HELP": "say what can be entered",
    "CLEAR": "clear the terminal",
    "QUIT": "end the shell; so do EXIT and Ctrl-D",
    "EXIT": "end the shell",
}
"""What the shell itself carries out."""

_OF_INIT = (parsed.Query, parsed.Insert, parsed.StatementSet, parsed.BeginStatementSet)


class SqlShell:
    """Runs statements in one environment.

    ``interactive``: a person reads the results in a terminal, so queries are shown as they change.
    """

    def __init__(
        self, env: TableEnvironment, out: Console, err: Console, *, interactive: bool = False
    ) -> None:
        self._session = env._session
        self._out = out
        self._err = err
        self._interactive = interactive
        self._file = "<sql>"
        self._watches: list[CompletableFuture[bool]] = []

    def run_all(self, pieces: Sequence[Piece], *, init: bool = False, file: str = "<sql>") -> bool:
        """Run statements until one fails, or until QUIT; return False if one has failed.

        ``init``: they prepare the session, so queries and INSERTs are refused. ``file``: how errors
        of jobs name the text.

        Raises:
            KeyboardInterrupt: Ctrl-C ended a statement.
        """
        self._file = file
        for piece in pieces:
            if ends_shell(piece):
                break
            if not self.run(piece, init=init):
                return False
        return True

    def run(self, piece: Piece, *, init: bool = False) -> bool:
        """Run a statement or a command; return False if it fails, after its error was printed."""
        match piece.text.upper():
            case "HELP":
                self.help()
                return True
            case "CLEAR":
                self._out.clear()
                return True
        with at_statement(self._file, piece.line):
            return self._run(piece, init)

    def _run(self, piece: Piece, init: bool) -> bool:
        try:
            (statement,) = parse(piece.placed)
            if init and isinstance(statement, _OF_INIT):
                raise SqlValidationError(
                    "a file of --init has no queries and no INSERTs: it prepares the session",
                    hint="--file runs statements of all kinds",
                )
            self._show(self._session.run(statement))
        except Exception as error:
            self._print_error(error)
            return False
        return True

    def help(self) -> None:
        """Print what can be entered."""
        for command, meaning in COMMANDS.items():
            self._out.print(f"{command:<8}{meaning}", highlight=False)
        words = [word for word in expected_after("") if word[0].isalpha()]
        self._out.print(f"Statements end with a semicolon: {', '.join(words)}", highlight=False)
        self._out.print("Tab completes names and words; Ctrl-C ends a query.", highlight=False)

    # Results

    def _show(self, result: TableResult) -> None:
        client = result.get_job_client()
        if client is not None:
            job = self._session.jobs.of(client)
            self._err.print(f"Job ID: {job.id}", highlight=False)
            self._watch(job)
        elif result.get_result_kind() is ResultKind.SUCCESS:
            if self._interactive:
                self._out.print("OK", highlight=False)
        elif result._plain:
            result.print()
        elif not self._show_rows(result):
            if not self._interactive:
                raise KeyboardInterrupt
            self._out.print("The query was ended.", highlight=False)

    def _show_rows(self, result: TableResult) -> bool:
        configuration = self._session.env._configuration
        mode = options.read(configuration, RESULT_MODE)
        if mode == "CHANGELOG" and not result._changes and result._is_query:
            raise SqlValidationError(
                f"{RESULT_MODE.key} is CHANGELOG, and the result of a batch has no changes",
                hint=f"SET '{RESULT_MODE.key}' = 'table' or 'tableau'",
            )
        in_place = self._interactive and self._out.is_terminal and result._is_query
        if not in_place or mode == "TABLEAU":
            return print_as_they_come(result, self._out)
        if mode == "CHANGELOG":
            return show_live(result, ChangelogView(), self._out)
        return show_live(result, TableView(options.read(configuration, MAX_TABLE_ROWS)), self._out)

    # Jobs

    def _watch(self, job: StartedJob) -> None:
        """Print the failure of a job as soon as it fails: other jobs may never end."""
        self._watches.append(CompletableFuture.run_in_thread(lambda: self._wait_for(job)))

    def wait_for_jobs(self) -> bool:
        """Wait for the jobs that INSERTs have started; return False if one has failed."""
        return all([watch.result() for watch in self._watches])

    def _wait_for(self, job: StartedJob) -> bool:
        try:
            job.client.get_job_execution_result().result()
        except Exception as error:
            self._err.print(f"the job {job.name!r} ({job.id}) has failed", highlight=False)
            self._print_error(error)
            return False
        return True

    def stop_jobs(self) -> None:
        """Stop the jobs that are running; with a checkpoint, they go on when started again."""
        running = self._session.jobs.running()
        if running:
            names = ", ".join(job.name for job in running)
            with contextlib.suppress(OSError):  # of a terminal that was closed
                self._err.print(f"stopping jobs of this session: {names}", highlight=False)
        for job in running:
            job.suspend()

    # Errors

    def _print_error(self, error: Exception) -> None:
        if options.read(self._session.env._configuration, VERBOSE):
            text = "".join(traceback.format_exception(error)).rstrip()
        else:
            text = error_text(error)
        self._err.print(Text(f"[ERROR] {text}", style="red"), soft_wrap=True)


def ends_shell(piece: Piece) -> bool:
    """Return whether a piece is QUIT or EXIT."""
    return piece.text.upper() in ("QUIT", "EXIT")


def error_text(error: Exception) -> str:
    """Return an error without its traceback, with the notes that say where it came from."""
    name = type(error).__name__
    text = str(error)
    lines = [f"{name}: {text}" if text else name]
    return "\n".join([*lines, *getattr(error, "__notes__", ())])
