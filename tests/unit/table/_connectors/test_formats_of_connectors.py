"""Each connector has the formats that the page names, and refuses the others when it is planned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.errors import SqlValidationError
from headrace.table import TableEnvironment
from headrace.table._formats.registry import _FORMATS

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "sql.md"
ROW = re.compile(r"^\| `(?P<connector>[a-z-]+)`[^|]*\| (?P<formats>[^|]+) \| yes \| yes \|$", re.M)
KAFKA = {
    "topic": "t",
    "properties.bootstrap.servers": "127.0.0.1:1",
    "scan.bounded.mode": "latest-offset",
}


def pairs() -> Iterator[tuple[str, str, bool]]:
    """Connectors and formats, and whether the page has the pair."""
    for row in ROW.finditer(PAGE.read_text("utf-8")):
        named = row["formats"].split(", ")
        assert {*named} <= {*_FORMATS}
        for each in _FORMATS:
            yield row["connector"], each, each in named


def table(connector: str, name: str, key: str = "json") -> TableEnvironment:
    options = {"connector": connector}
    prefix = ""
    if connector == "filesystem":
        options |= {"path": "/t", "format": name}
    elif connector == "kafka":
        options |= KAFKA | {"format": name, "scan.startup.mode": "earliest-offset"}
    else:
        prefix = "value."
        options |= KAFKA | {"key.format": key, "value.format": name}
        options["value.fields-include"] = "EXCEPT_KEY"
    if name == "avro-confluent":
        options[f"{prefix}avro-confluent.url"] = "http://127.0.0.1:1"
    columns = "k STRING, v STRING, PRIMARY KEY (k) NOT ENFORCED" if prefix else "v STRING"
    given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    env = TableEnvironment.create(Configuration.from_dict({"execution.target": "local"}))
    env.execute_sql(f"CREATE TABLE t ({columns}) WITH ({given})")
    return env


def test_the_page_has_the_connectors() -> None:
    assert {connector for connector, _, _ in pairs()} == {"filesystem", "kafka", "upsert-kafka"}


@pytest.mark.parametrize(("connector", "name", "fits"), [*pairs()])
def test_a_format_of_a_connector(connector: str, name: str, fits: bool) -> None:
    env = table(connector, name)
    values = "'k', 'v'" if connector == "upsert-kafka" else "'v'"
    for statement in ("SELECT * FROM t", f"INSERT INTO t SELECT {values}"):
        if fits:
            assert env.explain_sql(statement)
        else:
            with pytest.raises(SqlValidationError, match=f"'{name}'"):
                env.explain_sql(statement)


@pytest.mark.parametrize("name", ["debezium-json", "parquet"])
def test_what_is_no_format_of_keys_is_refused(name: str) -> None:
    with pytest.raises(SqlValidationError, match=f"'{name}' is not"):
        table("upsert-kafka", "json", name).explain_sql("SELECT * FROM t")
