"""What is imported for a first statement: each module costs time before the first row."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("sqlglot")

PROGRAM = """
import sys
from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment

local = Configuration.from_dict({"execution.target": "local"})
settings = EnvironmentSettings.new_instance().with_configuration(local).build()
t_env = TableEnvironment.create(settings)
query = "SELECT k, COUNT(*) FROM (VALUES ('a', 1), ('b', 2)) AS t(k, v) GROUP BY k"
with t_env.execute_sql(query).collect() as rows:
    assert [*next(rows)] == ["a", 1]
print(*sys.modules)
"""

OTHERS = {
    "asyncio",
    "fastavro",
    "py4j",
    "pyspark",
    "starlette",
    "uvicorn",
    "xml.etree.ElementTree",
    "headrace.datastream.window",
    "headrace.datastream._streams.windowed",
    "headrace.operators.columns.sort",
    "headrace.operators.columns.window_aggregate",
    "headrace.runners.hadoop_files",
    "headrace.runners.ui.failures",
    "headrace.runners.ui.server",
    "headrace.table.stream_table_environment",
}
"""What other programs and statements need. pyarrow imports pandas for its first array."""


def test_a_first_statement_imports_nothing_that_only_others_need() -> None:
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    imported = {*made.stdout.split()}
    assert "headrace.operators.columns.group_aggregate" in imported
    assert imported & OTHERS == set()
