"""The program of docs/how-to/kafka-to-postgres.md, with the servers of the tests."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.dev import topics
from tests.connectors.topic import new_topic
from tests.servers import serving

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "kafka-to-postgres.md"
KAFKA = "localhost:9092"
DATABASE = "postgresql://headrace@localhost:5432/postgres"


def test_the_page(
    kafka_servers: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    psycopg = pytest.importorskip("psycopg", reason="missing: psycopg")

    def local() -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment(Configuration.from_dict({"execution.target": "local"}))

    monkeypatch.setattr(StreamExecutionEnvironment, "get_execution_environment", local)
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    of = {language: [block for name, block in blocks if name == language] for language, _ in blocks}
    (lines,), (sql,), (program,), (printed, rows) = of["json"], of["sql"], of["python"], of["text"]
    topic = new_topic(kafka_servers)
    topics.produce(kafka_servers, topic, ((None, line.encode()) for line in lines.splitlines()))
    page = ModuleType("kafka_to_postgres_page")  # Order is found in it
    monkeypatch.setitem(sys.modules, page.__name__, page)
    with serving("postgres") as postgres, psycopg.connect(postgres.url, autocommit=True) as found:
        found.execute(sql)
        for shown, real in {
            KAFKA: kafka_servers,
            DATABASE: postgres.url,
            'set_topics("orders")': f'set_topics("{topic}")',
        }.items():
            assert shown in program
            program = program.replace(shown, real)
        exec(program, vars(page))
        totals = found.execute("SELECT customer, total FROM totals ORDER BY 1").fetchall()
    assert [f"{customer}  {total}" for customer, total in totals] == rows.splitlines()
    assert capsys.readouterr().out == printed
