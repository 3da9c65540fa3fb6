"""How an environment of tables is made, and what its functions may need."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.errors import SqlValidationError
from headrace.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    Row,
    StreamTableEnvironment,
    TableConfig,
    TableEnvironment,
)
from headrace.table.expressions import call, lit, row
from headrace.table.udf import udf


def local(**options: str) -> Configuration:
    given = {key.replace("__", "."): value for key, value in options.items()}
    return Configuration.from_dict({"execution.target": "local", **given})


def made(configuration: Configuration) -> TableEnvironment:
    settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
    return TableEnvironment.create(settings)


def test_settings_are_options() -> None:
    settings = EnvironmentSettings.new_instance().in_batch_mode().build()
    assert settings.get_configuration().get_string("execution.runtime-mode", "") == "BATCH"
    batch = Configuration().set_string("execution.runtime-mode", "batch")
    builder = EnvironmentSettings.new_instance().with_configuration(batch)
    assert not builder.build().is_streaming_mode()
    named = builder.with_built_in_catalog_name("c").with_built_in_database_name("d").build()
    assert named.get_configuration().get_string("table.builtin-catalog-name", "") == "c"
    t_env = TableEnvironment.create(named)
    assert (t_env.get_current_catalog(), t_env.get_current_database()) == ("c", "d")


def test_the_mode_of_a_program_is_that_of_its_tables() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(local())
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    table = StreamTableEnvironment.create(env).from_elements([(1,), (1,)], ["a"])
    with table.select(table.a.count).execute().collect() as rows:
        assert [*rows] == [Row(2)]
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    with pytest.raises(SqlValidationError, match="tables need BATCH or STREAMING"):
        StreamTableEnvironment.create(env)
    with pytest.raises(ValueError, match="a StreamExecutionEnvironment or EnvironmentSettings"):
        StreamTableEnvironment.create()


def test_functions_get_the_files_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "added_by_tables.py").write_text("def twice(n):\n    return n * 2\n")
    t_env = made(local())
    t_env.add_python_file(str(tmp_path / "added_by_tables.py"))

    def twice(number: int) -> int:
        return int(import_module("added_by_tables").twice(number))

    t_env.create_temporary_system_function("twice", udf(twice, result_type=DataTypes.BIGINT()))
    table = t_env.from_elements([(4,)], ["a"])
    with table.select(call("twice", table.a)).execute().collect() as rows:
        assert [*rows] == [Row(8)]


def test_options_that_have_methods() -> None:
    config = TableConfig.get_default()
    assert config.get_python_executable() is None
    config.set_python_executable(sys.executable)
    assert config.get_python_executable() == sys.executable
    assert config.get_max_generated_code_length() == 4000
    config.set_max_generated_code_length(32000)
    assert config.get_max_generated_code_length() == 32000


def test_a_field_without_a_name_is_an_attribute_too() -> None:
    table = made(local()).from_elements([((7, 8),)], ["r"])
    with table.select(table.r._2).execute().collect() as rows:
        assert [*rows] == [Row(8)]


def test_elements_may_be_expressions() -> None:
    t_env = made(local())
    table = t_env.from_elements([row(1, "a"), row(2, "b")])
    assert table.get_schema().get_field_names() == ["f0", "f1"]
    with pytest.raises(ValueError, match="some elements are Expressions, and others are not"):
        t_env.from_elements([lit(1), 2])
    with pytest.raises(ValueError, match="the row has 2 values, and its type 1 fields"):
        t_env.from_elements([row(1, 2)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))


def test_explain_gives_advice_and_the_graph() -> None:
    table = made(local()).from_elements([(1, "a")], ["n", "k"])
    grouped = table.group_by(table.k).select(table.k, table.n.sum)
    text = grouped.explain(ExplainDetail.PLAN_ADVICE, ExplainDetail.JSON_EXECUTION_PLAN)
    assert "== Optimized Physical Plan With Advice ==\n" in text
    assert "advice[1]: [ADVICE] You might want to enable local-global two-phase" in text
    assert text.partition("== Physical Execution Plan ==\n")[2].startswith("{")
    assert "No available advice..." in table.explain(ExplainDetail.PLAN_ADVICE)
