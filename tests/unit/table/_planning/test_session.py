"""Jobs, statement sets and options of a session, on the local runner."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.job_status import JobStatus
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import ConfigurationError, HeadraceError, SqlValidationError
from headrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from headrace.table.table_result import TableResult


def environment(**settings: str) -> TableEnvironment:
    configuration = Configuration.from_dict({"execution.target": "local", **settings})
    made = EnvironmentSettings.new_instance().with_configuration(configuration)
    return TableEnvironment.create(made.build())


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE endless (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10')"
    )
    t_env.execute_sql("CREATE TABLE nothing (a INT) WITH ('connector' = 'blackhole')")
    return t_env


def rows(result: TableResult) -> list[list[Any]]:
    with result.collect() as found:
        return [[*row] for row in found]


def csv(t_env: TableEnvironment, folder: Path, name: str, columns: str) -> None:
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem',"
        f" 'path' = '{folder / name}', 'format' = 'csv')"
    )


# Jobs


def test_a_job_is_shown_and_stopped(t_env: TableEnvironment) -> None:
    client = t_env.execute_sql("INSERT INTO nothing SELECT a FROM endless").get_job_client()
    assert client is not None
    id_ = str(client.get_job_id())
    ((shown, name, status, _),) = rows(t_env.execute_sql("SHOW JOBS"))
    assert (shown, status) == (id_, "RUNNING")
    assert name == "insert-into_default_catalog.default_database.nothing"
    assert rows(t_env.execute_sql(f"DESCRIBE JOB '{id_}'"))[0][:3] == [id_, name, "RUNNING"]
    t_env.execute_sql(f"STOP JOB '{id_}'")
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert rows(t_env.execute_sql("SHOW JOBS"))[0][2] == "CANCELED"


@pytest.mark.parametrize("drain", ["", " WITH DRAIN"])
def test_a_job_stops_with_a_savepoint(t_env: TableEnvironment, tmp_path: Path, drain: str) -> None:
    t_env.execute_sql("SET 'pipeline.name' = 'copy'")
    client = t_env.execute_sql("INSERT INTO nothing SELECT a FROM endless").get_job_client()
    assert client is not None
    t_env.execute_sql(f"SET 'execution.checkpointing.savepoint-dir' = '{tmp_path}'")
    stop = f"STOP JOB '{client.get_job_id()}' WITH SAVEPOINT{drain}"
    result = t_env.execute_sql(stop)
    assert result.get_resolved_schema().get_column_names() == ["savepoint path"]
    ((folder,),) = rows(result)
    assert Path(folder).is_dir() and Path(folder).is_relative_to(tmp_path)
    assert rows(t_env.execute_sql("SHOW JOBS"))[0][1:3] == ["copy", "FINISHED"]


def test_a_statement_goes_on_from_the_savepoint_of_its_job(tmp_path: Path) -> None:
    settings = {"execution.checkpointing.savepoint-dir": f"{tmp_path}/savepoints"}

    def begin(t_env: TableEnvironment) -> TableResult:
        t_env.execute_sql(
            "CREATE TABLE numbers (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '100',"
            " 'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '100')"
        )
        csv(t_env, tmp_path, "o", "a INT")
        return t_env.execute_sql("INSERT INTO o SELECT a FROM numbers")

    first = environment(**settings)
    client = begin(first).get_job_client()
    assert client is not None
    stop = f"STOP JOB '{client.get_job_id()}' WITH SAVEPOINT"
    ((savepoint,),) = rows(first.execute_sql(stop))
    second = environment(**settings, **{"execution.state-recovery.path": savepoint})
    begin(second).wait()
    found = rows(environment_of(tmp_path).execute_sql("SELECT a FROM o"))
    assert sorted(found) == [[number] for number in range(1, 101)]


def environment_of(folder: Path) -> TableEnvironment:
    """Return a new environment that has the table ``o``."""
    t_env = environment()
    csv(t_env, folder, "o", "a INT")
    return t_env


def test_each_job_of_a_session_has_a_checkpoint_of_its_own(t_env: TableEnvironment) -> None:
    once, endless = "INSERT INTO nothing VALUES (1)", "INSERT INTO nothing SELECT a FROM endless"
    t_env.execute_sql("SET 'pipeline.name' = 'job'")
    for _ in range(2):
        t_env.execute_sql(once).wait()  # without a checkpoint, names may be equal
    t_env.execute_sql("SET 'execution.checkpointing.dir' = '/checkpoints'")
    t_env.execute_sql(once).wait()
    for _ in range(2):  # a job that was stopped goes on
        client = t_env.execute_sql(endless).get_job_client()
        assert client is not None
        t_env.execute_sql(f"STOP JOB '{client.get_job_id()}'")
    t_env.execute_sql(once).wait()
    with t_env.execute_sql("SHOW JOBS").collect() as rows:
        names = [row[1] for row in rows]
    assert names == ["job", "job", "job-2", "job-3", "job-3", "job-3"]


def test_an_unknown_job_is_refused(t_env: TableEnvironment) -> None:
    for statement in ("STOP JOB 'x'", "DESCRIBE JOB 'x'"):
        with pytest.raises(SqlValidationError, match="has started no job 'x'"):
            t_env.execute_sql(statement)


def test_an_insert_waits_if_dml_is_synchronous(t_env: TableEnvironment, tmp_path: Path) -> None:
    csv(t_env, tmp_path, "o", "a INT")
    t_env.execute_sql("SET 'table.dml-sync' = 'true'")
    t_env.execute_sql("INSERT INTO o VALUES (1), (2)")
    assert rows(t_env.execute_sql("SELECT * FROM o")) == [[1], [2]]


# What belongs to a job


def test_a_statement_leaves_nothing_to_the_next_job(t_env: TableEnvironment) -> None:
    t_env.explain_sql("SELECT a FROM endless")
    t_env.execute_sql("SELECT a FROM endless")  # whose rows nobody takes
    with pytest.raises(HeadraceError):
        t_env.execute_sql("INSERT INTO nothing SELECT a, a FROM endless")
    with pytest.raises(SqlValidationError, match="only reads"):
        t_env.execute_sql("INSERT INTO endless SELECT 1")
    assert rows(t_env.execute_sql("SELECT 1")) == [[1]]


def test_a_statement_does_not_run_what_the_program_has_built() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"execution.target": "local"}))
    t_env = StreamTableEnvironment.create(env)
    seen = env.from_collection([1, 2]).map(lambda each: each + 1)
    assert rows(t_env.execute_sql("SELECT 5")) == [[5]]
    with seen.execute_and_collect() as found:
        assert [*found] == [2, 3]


# Statement sets


def test_a_statement_set_is_one_job_that_reads_its_source_once(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    csv(t_env, tmp_path, "i", "a INT")
    csv(t_env, tmp_path, "o", "a INT")
    csv(t_env, tmp_path, "p", "n BIGINT")
    (tmp_path / "i").mkdir()
    (tmp_path / "i" / "part").write_text("1\n2\n3\n")
    body = "INSERT INTO o SELECT a FROM i WHERE a > 1; INSERT INTO p SELECT a * 10 FROM i"
    plan = t_env.explain_sql(f"EXECUTE STATEMENT SET BEGIN {body}; END")
    assert len(re.findall(r"^  Source ", plan, re.MULTILINE)) == 1
    assert len(re.findall(r"^Sink\(table=", plan, re.MULTILINE)) == 2
    ((explained,),) = rows(t_env.execute_sql(f"EXPLAIN STATEMENT SET BEGIN {body}; END"))
    assert explained == plan
    t_env.execute_sql("BEGIN STATEMENT SET")
    for insert in body.split("; "):
        t_env.execute_sql(insert)
    result = t_env.execute_sql("END")
    assert [
        name.rpartition(".")[2] for name in result.get_resolved_schema().get_column_names()
    ] == [
        "o",
        "p",
    ]
    result.wait()
    assert len(rows(t_env.execute_sql("SHOW JOBS"))) == 1
    assert rows(t_env.execute_sql("SELECT * FROM o")) == [[2], [3]]
    assert rows(t_env.execute_sql("SELECT * FROM p")) == [[10], [20], [30]]


@pytest.mark.parametrize("between", ["SELECT 1", "BEGIN STATEMENT SET", "SHOW TABLES"])
def test_a_statement_set_takes_nothing_else(t_env: TableEnvironment, between: str) -> None:
    t_env.execute_sql("BEGIN STATEMENT SET")
    with pytest.raises(SqlValidationError, match="only INSERT and CREATE TABLE AS"):
        t_env.execute_sql(between)
    t_env.execute_sql("INSERT INTO nothing VALUES (1)")
    assert t_env.execute_sql("END").get_job_client() is not None


def test_a_statement_set_makes_tables_at_its_end(t_env: TableEnvironment, tmp_path: Path) -> None:
    csv(t_env, tmp_path, "o", "a INT")
    options = f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/made', 'format' = 'csv')"
    t_env.execute_sql("BEGIN STATEMENT SET")
    t_env.execute_sql(f"CREATE TABLE made {options} AS SELECT 7 AS n")
    t_env.execute_sql("INSERT INTO o VALUES (1)")
    assert "made" not in t_env.list_tables()
    result = t_env.execute_sql("END")
    result.wait()
    assert len(rows(t_env.execute_sql("SHOW JOBS"))) == 1
    assert rows(t_env.execute_sql("SELECT * FROM made")) == [[7]]
    assert rows(t_env.execute_sql("SELECT * FROM o")) == [[1]]


def test_a_statement_set_that_fails_makes_no_tables(t_env: TableEnvironment) -> None:
    t_env.execute_sql("BEGIN STATEMENT SET")
    with pytest.raises(SqlValidationError):
        t_env.execute_sql("CREATE TABLE m WITH ('connector' = 'blackhole') AS SELECT nope")
    t_env.execute_sql("CREATE TABLE m WITH ('connector' = 'blackhole') AS SELECT 1 AS a")
    t_env.execute_sql("CREATE TABLE n WITH ('connector' = 'nope') AS SELECT 1 AS a")
    with pytest.raises(HeadraceError, match="nope"):
        t_env.execute_sql("END")
    assert not {"m", "n"} & {*t_env.list_tables()}
    t_env.execute_sql("SHOW TABLES")


def test_a_set_without_inserts_starts_no_job(t_env: TableEnvironment) -> None:
    t_env.execute_sql("BEGIN STATEMENT SET")
    assert t_env.execute_sql("END").get_job_client() is None
    with pytest.raises(SqlValidationError, match="no statement set to end"):
        t_env.execute_sql("END")


def test_an_insert_that_means_nothing_is_refused_when_it_is_added(t_env: TableEnvironment) -> None:
    t_env.execute_sql("BEGIN STATEMENT SET")
    with pytest.raises(SqlValidationError):
        t_env.execute_sql("INSERT INTO nothing SELECT b FROM endless")
    assert t_env.execute_sql("END").get_job_client() is None


# Options


def test_options_are_listed_and_reset() -> None:
    t_env = environment(**{"pipeline.name": "first"})
    t_env.execute_sql("SET 'pipeline.name' = 'second'")
    t_env.execute_sql("SET 'table.local-time-zone' = 'Europe/Warsaw'")
    listed = dict(rows(t_env.execute_sql("SET")))
    assert listed["pipeline.name"] == "second"
    assert listed["table.local-time-zone"] == "Europe/Warsaw"
    t_env.execute_sql("RESET 'pipeline.name'")
    assert t_env.get_config().get("pipeline.name", None) == "first"
    t_env.execute_sql("SET 'pipeline.name' = 'third'")
    t_env.execute_sql("RESET")
    listed = dict(rows(t_env.execute_sql("SET")))
    assert listed["pipeline.name"] == "first" and "table.local-time-zone" not in listed


def test_a_wrong_option_is_refused(t_env: TableEnvironment) -> None:
    with pytest.raises(ConfigurationError):
        t_env.execute_sql("SET 'sql-client.execution.result-mode' = 'rows'")
    with pytest.raises(SqlValidationError, match="mode of an environment"):
        t_env.execute_sql("SET 'execution.runtime-mode' = 'batch'")
    t_env.execute_sql("SET 'execution.runtime-mode' = 'streaming'")


def test_known_rows_are_printed_in_full(
    t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a_view_with_a_name_of_more_than_thirty_characters"
    t_env.execute_sql(f"CREATE VIEW {name} AS SELECT 1 AS a")
    t_env.execute_sql("SHOW VIEWS").print()
    assert name in capsys.readouterr().out
    t_env.execute_sql(f"SHOW CREATE VIEW {name}").print()
    assert capsys.readouterr().out.startswith("CREATE VIEW `default_catalog`.")
    t_env.execute_sql("SET 'table.display.max-column-width' = '5'")
    t_env.execute_sql("SELECT 'abcdefgh' AS a").print()
    assert "| abc... |" in capsys.readouterr().out


def test_catalogs_are_stored_for_later_sessions(tmp_path: Path) -> None:
    settings = {
        "table.catalog-store.kind": "file",
        "table.catalog-store.file.path": f"{tmp_path}/store",
    }
    first = environment(**settings)
    first.execute_sql(f"CREATE CATALOG c WITH ('type' = 'file', 'path' = '{tmp_path}/c.sql')")
    first.execute_sql("CREATE TABLE c.`default`.t (a INT) WITH ('connector' = 'blackhole')")
    second = environment(**settings)
    second.use_catalog("c")
    assert second.list_tables() == ["t"]
    with pytest.raises(ConfigurationError, match="is missing"):
        environment(**{"table.catalog-store.kind": "file"})


def test_inserts_that_are_attached_share_the_operators_of_the_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"execution.target": "local"}))
    t_env = StreamTableEnvironment.create(env)
    query = "SELECT k, COUNT(*) AS c FROM (VALUES ('a'), ('a')) AS t(k) GROUP BY k"
    t_env.to_changelog_stream(t_env.sql_query(query)).print()
    for name in ("x", "y"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (k STRING, c BIGINT) WITH"
            f" ('connector' = 'print', 'print-identifier' = '{name}')"
        )
        attached = t_env.create_statement_set()
        attached.add_insert_sql(f"INSERT INTO {name} {query}")
        attached.attach_as_datastream()
    env.execute()
    printed = capsys.readouterr().out
    assert re.findall(r"^(x|y).*\+U\[a, 2\]$", printed, re.MULTILINE) == ["x", "y"]
    assert printed.count("+U[a,2]") == 1


def test_tables_that_keep_the_rows_of_one_query_keep_them_apart(
    t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    inserts = t_env.create_statement_set()
    for name in ("x", "y"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (c BIGINT, k STRING, PRIMARY KEY (c) NOT ENFORCED) WITH"
            f" ('connector' = 'print', 'print-identifier' = '{name}')"
        )
        inserts.add_insert_sql(
            f"INSERT INTO {name} SELECT COUNT(*), k FROM (VALUES ('a'), ('b')) AS t(k)"
            " GROUP BY k ON CONFLICT DO DEDUPLICATE"
        )
    inserts.execute().wait()
    printed = capsys.readouterr().out
    assert re.findall(r"^(x|y).*\+U\[1, b\]$", printed, re.MULTILINE) == ["x", "y"]


def test_all_state_of_statements_is_found_by_what_it_is(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE sums (a INT, n BIGINT) WITH ('connector' = 'print')")
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO sums SELECT a, COUNT(*) FROM endless GROUP BY a")
    statements.add_insert_sql(
        "INSERT INTO nothing SELECT a + 1 FROM endless UNION ALL SELECT * FROM (VALUES (1), (2))"
    )
    stateful = r"^ *(?:Source |Sink \d+: |GroupAggregate \[).*"
    found = re.findall(stateful, statements.explain(), re.MULTILINE)
    assert len(found) == 5
    uids = [re.findall(r"\[uid=sql-\w+-\w+\]", line) for line in found]
    assert all(len(each) == 1 for each in uids), found
    assert len({uid for (uid,) in uids}) == 5


def test_a_table_stays_whose_rows_fail_after_the_start(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    t_env.execute_sql("SET 'table.dml-sync' = 'true'")
    with pytest.raises(HeadraceError):
        t_env.execute_sql(
            "CREATE TABLE numbers WITH ('connector' = 'filesystem',"
            f" 'path' = '{tmp_path}', 'format' = 'csv') AS"
            " SELECT CAST(v AS INT) AS a FROM (VALUES ('1'), ('x')) AS t(v)"
        )
    assert "numbers" in t_env.list_tables()


def test_a_plan_that_is_too_deep_is_refused(t_env: TableEnvironment) -> None:
    text = f"SELECT {' + '.join(['x'] * 3000)} FROM (VALUES (1)) AS t(x)"
    with pytest.raises(SqlValidationError, match="nested too deeply"):
        t_env.execute_sql(text)
    with pytest.raises(SqlValidationError, match="nested too deeply"):
        t_env.sql_query(text)


def test_a_view_that_reads_itself_is_refused(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE VIEW v AS SELECT 1 AS x")
    t_env.execute_sql("CREATE VIEW w AS SELECT * FROM v")
    assert rows(t_env.execute_sql("SELECT a.x FROM w AS a")) == [[1]]
    t_env.execute_sql("ALTER VIEW v AS SELECT * FROM w")
    with pytest.raises(SqlValidationError, match=r"the view .*v.* reads itself: .* reads .* reads"):
        t_env.execute_sql("SELECT * FROM v")
    t_env.execute_sql("ALTER VIEW v AS SELECT 2 AS x")
    assert rows(t_env.execute_sql("SELECT x FROM w UNION ALL SELECT x FROM w")) == [[2], [2]]
