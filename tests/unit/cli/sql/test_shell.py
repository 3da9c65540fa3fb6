"""Statements that are run one after the other, without a terminal."""

from __future__ import annotations

import errno
import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli.sql.history import HistoryFile
from headrace.cli.sql.shell import SqlShell
from headrace.cli.sql.terminal import Terminal
from headrace.common.configuration import Configuration
from headrace.sql.dialect.splitting import pieces_of
from headrace.table import TableEnvironment


class Session:
    """A shell that writes into texts."""

    def __init__(self, *, interactive: bool = False) -> None:
        configuration = Configuration.from_dict({"execution.target": "local"})
        self.env = TableEnvironment.create(configuration)
        self.env._session.settings.fixed_mode = False
        self.console = Console(file=io.StringIO(), soft_wrap=True)
        self.errors = Console(file=io.StringIO(), soft_wrap=True)
        self.shell = SqlShell(self.env, self.console, self.errors, interactive=interactive)

    def run(self, text: str, *, init: bool = False) -> bool:
        return self.shell.run_all(pieces_of(text), init=init)

    @property
    def out(self) -> str:
        return self._text(self.console)

    @property
    def err(self) -> str:
        return self._text(self.errors)

    def _text(self, console: Console) -> str:
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()


@pytest.fixture
def session() -> Session:
    return Session()


def test_results_are_printed_in_order(session: Session) -> None:
    assert session.run(
        """
        CREATE VIEW o AS SELECT * FROM (VALUES ('ann'), ('bob'), ('ann')) AS t(name);
        SELECT name, COUNT(*) AS n FROM o GROUP BY name;
        SET 'execution.runtime-mode' = 'batch';
        SELECT name, COUNT(*) AS n FROM o GROUP BY name
        """
    )
    assert session.out.splitlines() == [
        "+----+--------------------------------+----------------------+",
        "| op |                           name |                    n |",
        "+----+--------------------------------+----------------------+",
        "| +I |                            ann |                    1 |",
        "| +I |                            bob |                    1 |",
        "| -U |                            ann |                    1 |",
        "| +U |                            ann |                    2 |",
        "+----+--------------------------------+----------------------+",
        "4 rows in set",
        "+------+---+",
        "| name | n |",
        "+------+---+",
        "|  ann | 2 |",
        "|  bob | 1 |",
        "+------+---+",
        "2 rows in set",
    ]
    assert session.err == ""


def test_the_first_error_ends_the_run(session: Session) -> None:
    assert not session.run("SELECT 1;\n\n  SELECT a FORM t;\nSELECT 'later'")
    assert "later" not in session.out and "1 row in set" in session.out
    lines = session.err.splitlines()
    assert lines[0].startswith("[ERROR] SqlParserError: line 3, column 17: 't' is not expected")
    assert lines[1:3] == ["  SELECT a FORM t", "                ^"]


def test_commands_are_among_statements_and_quit_ends_them(session: Session) -> None:
    assert session.run("HELP; CLEAR; SELECT 'first';\nquit;\nSELECT a FORM t")
    assert "end the shell" in session.out and "first" in session.out
    assert session.err == ""


def test_an_error_of_a_value_names_the_line_of_its_statement(session: Session) -> None:
    assert not session.run("SELECT 1;\n\nSELECT CAST(x AS INT) FROM (VALUES ('a')) AS t(x)")
    first, *_, last = session.err.splitlines()
    assert first.startswith("[ERROR] SqlError: cannot cast 'a' to INT")
    assert last.startswith("operator: Calc") and last.endswith("built at <sql>:3")


def test_errors_of_planning_show_their_place(session: Session) -> None:
    session.run("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-row' = '1')")
    assert not session.run("SELECT 1;\n  SELECT a,\n    UPER('b') FROM t")
    assert not session.run("SELECT 1; DROP TABLE tt")
    assert not session.run("INSERT INTO `t` (b) SELECT 1")
    assert not session.run("SELECT * FROM t")
    assert session.err.splitlines() == [
        "[ERROR] SqlValidationError: no function has the name UPER",
        "  position: line 3, column 5",
        "            UPER('b') FROM t",
        "            ^",
        "  hint:     did you mean UPPER?",
        "[ERROR] CatalogError: the table or view `default_catalog`.`default_database`.`tt` does"
        " not exist",
        "  position: line 1, column 22",
        "            DROP TABLE tt",
        "                       ^",
        "  hint:     did you mean `t`?",
        "[ERROR] SqlValidationError: table 't' has no column 'b'",
        "  position: line 1, column 13",
        "            INSERT INTO `t` (b) SELECT 1",
        "                        ^",
        "  hint:     there is `a`",
        "[ERROR] SqlValidationError: table 't' has an unknown option 'number-of-row'",
        "  position: line 1, column 1",
        "            SELECT * FROM t",
        "            ^",
        "  table:    t",
        "  options:  fields.a.end, fields.a.kind, fields.a.max, fields.a.min, fields.a.null-rate,"
        " fields.a.start, number-of-rows, rows-per-second, scan.parallelism",
        "  hint:     did you mean 'number-of-rows'?",
    ]


def test_an_error_inside_a_view_names_the_view(session: Session) -> None:
    assert session.run(
        "CREATE TABLE t (a INT) WITH ('connector' = 'datagen');"
        " CREATE VIEW v AS SELECT a AS b FROM t; DROP TABLE t"
    )
    assert not session.run("SELECT b FROM v")
    assert "does not exist\n  position: line 1, column 92\n" in session.err
    assert "CREATE VIEW v AS SELECT a AS b FROM t" in session.err
    assert "view:     `default_catalog`.`default_database`.`v`" in session.err
    assert "Traceback" not in session.err


def test_a_verbose_session_prints_tracebacks(session: Session) -> None:
    assert not session.run("SET 'sql-client.verbose' = 'true'; SELECT a FORM t")
    assert "Traceback (most recent call last)" in session.err


def test_an_insert_starts_a_job_that_is_waited_for(session: Session, tmp_path: Path) -> None:
    assert session.run(
        f"""
        CREATE TABLE t (a INT) WITH (
            'connector' = 'filesystem', 'path' = '{tmp_path}/t', 'format' = 'csv');
        BEGIN STATEMENT SET; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); END;
        """
    )
    assert session.err.startswith("Job ID: ")
    assert session.shell.wait_for_jobs()
    assert session.run("SET 'execution.runtime-mode' = 'batch'; SELECT SUM(a) AS s FROM t")
    assert "| 3 |" in session.out


def test_the_failure_of_a_job_is_told_once(session: Session) -> None:
    assert session.run(
        """
        CREATE TABLE t (a INT) WITH ('connector' = 'blackhole');
        INSERT INTO t SELECT CAST(a AS INT) FROM (VALUES ('x')) AS v(a);
        """
    )
    assert not session.shell.wait_for_jobs()
    assert session.err.count("[ERROR]") == 1
    assert "has failed" in session.err and "Traceback" not in session.err


def test_the_failure_of_a_job_is_told_while_another_one_runs(session: Session) -> None:
    assert session.run(
        """
        CREATE TABLE s (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');
        CREATE TABLE t (a INT) WITH ('connector' = 'blackhole');
        INSERT INTO t SELECT a FROM s;
        INSERT INTO t SELECT CAST(a AS INT) FROM (VALUES ('x')) AS v(a);
        """
    )
    deadline = time.monotonic() + 30
    while "[ERROR]" not in session.err and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "has failed" in session.err and len(session.env._session.jobs.running()) == 1
    session.shell.stop_jobs()
    assert not session.shell.wait_for_jobs()


def test_jobs_that_run_are_stopped_at_the_end(session: Session) -> None:
    assert session.run(
        """
        CREATE TABLE s (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');
        CREATE TABLE t (a INT) WITH ('connector' = 'blackhole');
        INSERT INTO t SELECT a FROM s;
        """
    )
    session.shell.stop_jobs()
    assert session.env._session.jobs.running() == []
    assert "stopping jobs of this session: insert-into_" in session.err


class ClosedTerminal(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


def test_jobs_are_stopped_though_the_terminal_was_closed(session: Session) -> None:
    assert session.run(
        """
        CREATE TABLE s (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');
        CREATE TABLE t (a INT) WITH ('connector' = 'blackhole');
        INSERT INTO t SELECT a FROM s;
        """
    )
    session.errors.file = ClosedTerminal()
    session.shell.stop_jobs()
    assert session.env._session.jobs.running() == []


@pytest.mark.parametrize("statement", ["SELECT 1", "INSERT INTO t SELECT 1", "BEGIN STATEMENT SET"])
def test_a_file_of_init_prepares_only(session: Session, statement: str) -> None:
    assert session.run("SET 'pipeline.name' = 'n'; USE default_database", init=True)
    assert not session.run(statement, init=True)
    assert "--init has no queries" in session.err


def test_a_changelog_of_a_batch_is_refused(session: Session) -> None:
    session.run("SET 'execution.runtime-mode' = 'batch'")
    session.run("SET 'sql-client.execution.result-mode' = 'changelog'")
    assert not session.run("SELECT 1")
    assert "the result of a batch has no changes" in session.err
    assert session.run("SHOW TABLES")


# The loop of the terminal


def entered(session: Session, folder: Path, *lines: str) -> list[str]:
    """Enter lines, and return the prompts that were shown."""
    left, prompts = iter(lines), []

    def read(prompt: str) -> str:
        prompts.append(prompt.strip())
        line = next(left, None)
        if line is None:
            raise EOFError
        if line == "^C":
            raise KeyboardInterrupt
        return line

    history = HistoryFile(folder / "history")
    catalogs = session.env._session.catalogs
    Terminal(session.shell, catalogs, history, session.console, read).run()
    return prompts


def test_a_statement_goes_on_to_its_semicolon(tmp_path: Path) -> None:
    session = Session(interactive=True)
    prompts = entered(session, tmp_path, "CREATE VIEW v AS", "SELECT 'a;b' AS a;", "SHOW VIEWS;")
    assert prompts == ["headrace>", "->", "headrace>", "headrace>"]
    assert "OK\n" in session.out and "|         v |" in session.out
    kept = HistoryFile(tmp_path / "history").read()
    assert kept == ["CREATE VIEW v AS SELECT 'a;b' AS a;", "SHOW VIEWS;"]


def test_an_interrupt_forgets_what_was_begun(tmp_path: Path) -> None:
    session = Session(interactive=True)
    prompts = entered(session, tmp_path, "SELECT", "^C", "quit", "SHOW TABLES;")
    assert prompts == ["headrace>", "->", "headrace>"]
    assert session.err == ""


def test_an_error_forgets_the_rest_of_the_line(tmp_path: Path) -> None:
    session = Session(interactive=True)
    prompts = entered(session, tmp_path, "SHOW TABLE; SHOW VIEWS; SELECT", "HELP;", "EXIT;")
    assert prompts == ["headrace>"] * 3
    assert session.err.count("[ERROR]") == 1
    assert "Empty set" not in session.out
    assert "Statements end with a semicolon: SELECT, WITH" in session.out
