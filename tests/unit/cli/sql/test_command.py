"""``headrace sql`` as a process: files, arguments, standard input, and a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.sql.pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-c", "from headrace.cli import main; main()", "sql", "--local"]
ENVIRON = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def run(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=ENVIRON,
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_file_runs_after_its_init_and_with_settings(tmp_path: Path) -> None:
    (tmp_path / "init.sql").write_text("\ufeffCREATE VIEW v AS SELECT 41 AS a;\r\n", "utf-8")
    (tmp_path / "job.sql").write_text(
        "CREATE TABLE o (a INT) WITH ('connector'='filesystem', 'path'='o', 'format'='csv');\n"
        "INSERT INTO o SELECT a + 1 FROM v;\n"
        "SELECT a FROM o"
    )
    settings = ("-D", "execution.runtime-mode=batch", "-D", "table.dml-sync=true")
    done = run(tmp_path, "-i", "init.sql", "-f", "job.sql", *settings)
    assert (done.returncode, done.stdout.splitlines()[3]) == (0, "| 42 |"), done.stderr
    assert done.stderr.startswith("Job ID: ")


def test_functions_of_modules_beside_a_job_fail_at_their_statement(tmp_path: Path) -> None:
    (tmp_path / "fns.py").write_text(
        "from headrace.table.udf import udf\n"
        "code = udf(lambda name: {'a': 1}[name], result_type='INT')\n"
    )
    (tmp_path / "job.sql").write_text(
        "CREATE FUNCTION code AS 'fns.code' LANGUAGE PYTHON;\n"
        "CREATE VIEW v AS SELECT * FROM (VALUES ('a'), ('b')) AS t(name);\n\n"
        "SELECT code(name) FROM v;"
    )
    without_folder = [COMMAND[0], "-P", *COMMAND[1:], "-f", "job.sql"]
    done = subprocess.run(
        without_folder, cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "[ERROR] KeyError: 'b'",
        "function: <lambda>(CHAR(1) NOT NULL) -> INT",
        "values:   ('b',)",
        "operator: Calc (uid=none), built at job.sql:4",
    ]


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        (["-e", "SELECT 1; SELECT FROM"], None, 1),
        ([], "SELECT 1;\nSELECT FROM\n", 1),
        (["-f", "missing.sql"], None, 1),
        (["-e", "SELECT 1", "-f", "x.sql"], None, 1),
        (["-e", "SELECT 1"], None, 0),
    ],
)
def test_exit_codes(tmp_path: Path, arguments: list[str], text: str | None, code: int) -> None:
    done = run(tmp_path, *arguments, text=text)
    assert done.returncode == code
    assert ("Error" in done.stderr) == (code == 1)
    assert "Traceback" not in done.stderr


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[PseudoTerminal]:
    command = [*COMMAND, "--history", str(tmp_path / "history")]
    with PseudoTerminal(command, ENVIRON) as terminal:
        terminal.wait_for("headrace> ")
        yield terminal


def test_a_query_changes_in_place_and_ends_by_an_interrupt(terminal: PseudoTerminal) -> None:
    terminal.type(
        "CREATE TABLE endless (a INT) WITH ('connector'='datagen', 'rows-per-second'='20',"
        " 'fields.a.min'='7', 'fields.a.max'='7');\n"
    )
    assert "OK" in terminal.wait_for("headrace> ")
    terminal.type("SELECT a, COUNT(*) AS n FROM endless\nGROUP BY a;\n")
    terminal.wait_for("changes so far")
    terminal.wait_for("│ 7 │")
    terminal.interrupt()
    left = terminal.wait_for("headrace> ")
    assert "The query was ended." in left and "1 row in set" in left
    terminal.type("SET 'sql-client.execution.result-mode' = 'changelog';\n")
    terminal.wait_for("headrace> ")
    terminal.type("SELECT a, COUNT(*) AS n FROM endless GROUP BY a;\n")
    terminal.wait_for("-U")
    terminal.interrupt()
    assert "+U" in terminal.wait_for("headrace> ")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_words_are_completed_and_statements_come_back(terminal: PseudoTerminal) -> None:
    terminal.type("CRE\tVIEW counted AS SEL\t1 AS a;\n")
    assert "OK" in terminal.wait_for("headrace> ")
    terminal.type("DESCRIBE cou\t;\n")
    assert "1 row in set" in terminal.wait_for("headrace> ")
    terminal.type("\x1b[A\x1b[A")
    terminal.wait_for("CREATE VIEW counted AS SELECT 1 AS a;")
    # Not by Ctrl-C: readline does not see a signal while it reads a key.
    terminal.type("\x15quit\n")
    assert terminal.end() == 0


def test_a_job_goes_on_beside_the_prompt_and_ends_with_the_shell(terminal: PseudoTerminal) -> None:
    terminal.type(
        "CREATE TABLE s (a INT) WITH ('connector'='datagen');"
        " CREATE TABLE t (a INT) WITH ('connector'='blackhole'); INSERT INTO t SELECT a FROM s;\n"
    )
    assert "Job ID: " in terminal.wait_for("headrace> ")
    terminal.type("SHOW JOBS;\n")
    assert "RUNNING" in terminal.wait_for("headrace> ")
    terminal.type("INSERT INTO t SELECT CAST(a AS INT) FROM (VALUES ('x')) AS v(a);\n")
    assert "has failed" in terminal.wait_for("[ERROR]")
    terminal.type("EXIT;\n")
    terminal.wait_for("stopping jobs of this session: insert-into_")
    assert terminal.end() == 0
    assert "Traceback" not in terminal.seen
