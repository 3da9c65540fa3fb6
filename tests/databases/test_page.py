"""The programs of docs/how-to/databases.md, with the servers of the tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "databases.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)


def test_the_page(
    redis: Any, database: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def local() -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment(Configuration.from_dict({"execution.target": "local"}))

    monkeypatch.setattr(StreamExecutionEnvironment, "get_execution_environment", local)
    for line in re.findall("^redis-cli (.*)$", blocks("sh")[0], re.M):
        redis.execute_command(*line.split())
    for sql in blocks("sql"):
        database.execute(sql)
    monkeypatch.setenv("REDIS", redis.url)
    monkeypatch.setenv("DATABASE", database.url)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for program in blocks("python"):
        exec(program, namespace)
    assert redis.hgetall("totals") == {"ann": "11", "bob": "4"}
    found = database.execute("SELECT * FROM orders ORDER BY id").fetchall()
    assert found == [(1, "ann", 10.0), (2, "bob", 4.0), (3, "ann", 1.0)]
    printed = sorted(
        line.partition("> ")[2] or line for line in capsys.readouterr().out.split("\n")
    )
    assert [line for line in printed if line] == [
        "Row(id=1, customer='ann', amount=10.0)",
        "Row(id=2, customer='bob', amount=4.0)",
        "Row(id=3, customer='ann', amount=1.0)",
    ]
