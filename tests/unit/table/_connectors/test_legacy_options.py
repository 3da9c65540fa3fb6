"""Options of Flink's old CSV source."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.configuration import Configuration
from headrace.errors import SqlValidationError
from headrace.table import TableEnvironment
from headrace.table._connectors.legacy_options import with_current_names

OLD = {"connector.type": "filesystem", "format.type": "csv", "connector.path": "/data"}
READ = {
    "connector": "filesystem",
    "format": "csv",
    "path": "/data",
    "csv.disable-quote-character": "true",
}


def test_the_old_source_had_no_quotes() -> None:
    ignored = {"connector.property-version": "1", "format.ignore-first-line": "false"}
    assert with_current_names("t", OLD | ignored) == READ
    quoted = {"format.quote-character": "'", "format.field-delimiter": ";"}
    found = with_current_names("t", OLD | quoted)
    assert found["csv.quote-character"] == "'" and found["csv.field-delimiter"] == ";"
    assert "csv.disable-quote-character" not in found
    assert with_current_names("t", READ) == READ


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connector.type", "kafka"),
        ("format.ignore-first-line", "true"),
        ("format.ignore-parse-errors", "true"),
        ("format.null-literal", "n/a"),
    ],
)
def test_what_would_read_other_rows_is_refused(key: str, value: str) -> None:
    with pytest.raises(SqlValidationError, match=f"the old option '{key}' = '{value}'"):
        with_current_names("t", OLD | {key: value})


def test_a_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1;"a\n2;b\n')
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    env = TableEnvironment.create(configuration)
    env.execute_sql(
        "CREATE TABLE t (n INT, s STRING) WITH ('connector.type' = 'filesystem',"
        f" 'format.type' = 'csv', 'connector.path' = '{tmp_path}', 'format.field-delimiter' = ';')"
    )
    with env.execute_sql("SELECT * FROM t").collect() as rows:
        assert [tuple(row) for row in rows] == [(1, '"a'), (2, "b")]
