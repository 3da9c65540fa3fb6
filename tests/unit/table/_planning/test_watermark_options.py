"""Options ``scan.watermark.*`` of tables whose watermarks nothing needs."""

from __future__ import annotations

import pytest

from headrace.errors import SqlValidationError
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment


@pytest.mark.parametrize("hint", ["", "/*+ OPTIONS('scan.watermark.emit.strategy' = 'never') */"])
@pytest.mark.parametrize("batch", [False, True])
def test_a_table_without_watermarks_is_checked_too(hint: str, batch: bool) -> None:
    modes = EnvironmentSettings.in_batch_mode, EnvironmentSettings.in_streaming_mode
    env = TableEnvironment.create(modes[0 if batch else 1]())
    option = "" if hint else ", 'scan.watermark.alignment.group' = 'g'"
    env.execute_sql(
        "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '/tmp/none',"
        f" 'format' = 'json'{option})"
    )
    with pytest.raises(SqlValidationError, match="emit.strategy" if hint else "max-drift"):
        env.explain_sql(f"SELECT a FROM t {hint}")
