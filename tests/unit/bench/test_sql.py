"""The benchmark's SQL: each statement gives what is expected, and the lines cross where they do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import expectation, report
from bench.contenders import CASES, CONTENDERS
from bench.kafka import inputs
from bench.kafka.peers import sql as kafka_sql
from bench.measure import table_formats
from bench.peers import headrace_sql
from bench.peers.protocol import Task
from bench.sql import program, statements
from bench.targets import TARGETS, Measured
from bench.throughput import Figure

LOCAL = {"execution.target": "local"}


@pytest.mark.slow
@pytest.mark.parametrize("minibatch", ["0", "1"])
@pytest.mark.parametrize("job", ["sg", "st", "sf"])
def test_each_statement_gives_what_is_expected(job: str, minibatch: str, tmp_path: Path) -> None:
    options = {"runner": "local", "minibatch": minibatch}
    task = Task(job, 3_000, 20, "uniform", options, tmp_path, tmp_path)
    outcome = headrace_sql.run(task)
    checked = outcome.facts["checked_records"]
    wanted = expectation.expected(job, checked, 20, "uniform", tmp_path)
    assert wanted[0] >= 20
    assert expectation.difference(job, outcome.tally, wanted) is None


def test_what_python_functions_give_is_expected(tmp_path: Path) -> None:
    keys = [index * 2_654_435_761 % 4_294_967_291 % 20 for index in range(50)]
    scores = [program.score(key, index) for index, key in enumerate(keys)]
    wanted = expectation.expected("sr", 50, 20, "uniform", tmp_path)
    assert wanted == (50, sum(keys), sum(scores))


def test_a_wrong_sum_is_found(tmp_path: Path) -> None:
    wanted = expectation.expected("sg", 100, 20, "uniform", tmp_path)
    wrong = [*wanted[:3], wanted[3] + 1]
    assert expectation.difference("sg", wrong, wanted) == (
        f"the tally is {wrong}, expected {[*wanted]}"
    )


def test_each_case_has_statements_of_a_contender_that_runs_them() -> None:
    cases = [case for case in CASES.values() if case.job in statements.JOBS]
    modules = {CONTENDERS[name].module for case in cases for name in case.sizes}
    assert {case.job for case in cases} == {*statements.JOBS}
    assert modules == {"headrace_sql", "flink_tables", "spark_sql"}


def test_the_statement_over_kafka_reads_what_it_is_given() -> None:
    made = program.environment("headrace", LOCAL)
    given = {"brokers": "localhost:1", "topic": "orders-1", "output": "summaries-1"}
    for statement in kafka_sql.tables(given):
        made.execute_sql(statement)
    assert "where=[=(MOD(`quantity`, CAST(2 AS BIGINT" in made.explain_sql(kafka_sql.QUERY)
    assert inputs.wanted(inputs.SQL, 20) == inputs.wanted(inputs.STATELESS, 20)


@pytest.mark.parametrize(
    ("starts", "rates", "said"),
    [
        ((6.0, 2.0), (4e6, 2e6), "from 16M records on"),
        ((2.0, 6.0), (4e6, 2e6), "always"),
        ((6.0, 2.0), (2e6, 4e6), "never"),
        ((2.0, 6.0), (2e6, 4e6), "up to 16M records"),
    ],
)
def test_where_two_lines_cross(starts: Any, rates: Any, said: str) -> None:
    own, other = (
        Figure(name, {0: rate}, (start,))
        for name, start, rate in zip(("headrace-sql", "flink-tables"), starts, rates, strict=True)
    )
    assert report._crossing(own, other) == said


def test_the_targets_find_the_rates_of_decoding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table_formats, "ROWS", 10)
    monkeypatch.setattr(table_formats, "ROUNDS", 1)
    monkeypatch.setattr(sys, "argv", ["table_formats", "since=0"])
    table_formats.main()
    values = json.loads(capsys.readouterr().out.splitlines()[-1])
    rows = [{"contender": "headrace-sql-local", "round": 0, "values": values}]
    asked = [each for each in TARGETS if "decoded into columns" in each.text]
    answers = [each.ask(Measured({"sql-formats": {"rows": rows}})) for each in asked]
    assert [each and each.median for each in answers] == [
        values[f"json_{rows}_{what}_per_second"]
        for rows in ("mixed", "numbers")
        for what in ("lines", "messages")
    ]


def test_the_table_of_the_readme_finds_the_rates() -> None:
    found = report._in_short(Measured({}), report.SQL_IN_SHORT, "Headrace's SQL")
    assert found.count("not measured") == len(report.SQL_IN_SHORT)
    rows = [
        {"contender": name, "round": 0, "values": {"records_per_second": rate}}
        for name, rate in (("headrace-sql", 300.0), ("flink-tables", 200.0))
    ]
    found = report._in_short(Measured({"sql-kafka": {"rows": rows}}), report.SQL_IN_SHORT)
    assert "| Kafka to Kafka, JSON, exactly once: Flink SQL | 200 | 300 | 1.5 |" in found
