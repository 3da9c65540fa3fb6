"""``headrace check`` says what of a program works, by its syntax tree."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.cli.check.flink1_names import REPLACEMENTS
from headrace.cli.check.uses import uses_of
from headrace.cli.check.values import _api_class
from headrace.errors import ConfigurationError

NOT = "does not work"


def found(folder: Path, program: str, **modules: str) -> list[tuple[int, str, str]]:
    """The uses of a program that are not simply fine: line, name, status in one word."""
    for name, text in modules.items():
        path = folder / f"{name.replace('_of_', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text), "utf-8")
    (folder / "job.py").write_text(dedent(program))
    own = [use for use in uses_of(folder / "job.py") if use.file.endswith("job.py")]
    return [(use.line, use.name, use.status.split(",")[0]) for use in own if use.status != "works"]


@pytest.mark.parametrize("package", ["pyflink", "headrace"])
def test_chains_of_calls_are_followed(tmp_path: Path, package: str) -> None:
    program = f"""
    from {package}.datastream import StreamExecutionEnvironment
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_jars("a.jar")
    env.from_collection([1]).get_type().get_java_type_info()
    (env.from_collection([1])
        .map(str)
        .key_by(lambda v: v)
        .set_buffer_timeout(5)
        .print())
    """
    assert found(tmp_path, program) == [
        (4, "StreamExecutionEnvironment.add_jars", "accepted"),
        (5, "TypeInformation.get_java_type_info", "unsupported"),
        (9, "KeyedStream.set_buffer_timeout", "accepted"),
    ]


@pytest.mark.parametrize(
    "imports",
    [
        "from pyflink.datastream.connectors.pulsar import PulsarSource as Source",
        "import pyflink.datastream.connectors.pulsar as k; Source = k.PulsarSource",
        "import pyflink.datastream.connectors.pulsar\n"
        "Source = pyflink.datastream.connectors.pulsar.PulsarSource",
        "from pyflink.datastream.connectors import pulsar\nSource = pulsar.PulsarSource",
        "from pyflink.datastream.connectors.pulsar import *\nSource = PulsarSource",
        "from beside import Source",
        "from beside import *",
        "import beside\nSource = beside.Source",
        "from package.inner import Source",
        "from package import inner\nSource = inner.Source",
    ],
)
def test_every_way_to_import(tmp_path: Path, imports: str) -> None:
    program = f"{imports}\n\n\n\nSource.builder()\n"
    uses = found(
        tmp_path,
        program,
        beside="from pyflink.datastream.connectors.pulsar import PulsarSource as Source",
        package_of___init__="",
        package_of_inner="from .other import Source",
        package_of_other="from headrace.datastream.connectors.pulsar import PulsarSource as Source",
    )
    last = program.count("\n")
    assert (last, "PulsarSource", "unsupported") in uses


def test_what_is_imported_and_not_used_is_fine(tmp_path: Path) -> None:
    program = """
    from pyflink.datastream.connectors.pulsar import PulsarSource
    def read(source: PulsarSource): ...
    """
    assert found(tmp_path, program) == []


def test_modules_that_are_not_there(tmp_path: Path) -> None:
    program = """
    from pyflink.table import StreamTableEnvironment
    import pyflink.java_gateway
    import numpy, json
    from pyflink.datastream import NoSuchName
    StreamTableEnvironment.create(None)
    """
    assert found(tmp_path, program) == [
        (3, "pyflink.java_gateway", "unsupported"),
        (5, "pyflink.datastream.NoSuchName", "unsupported"),
    ]


def test_objects_are_known_by_parameters_and_attributes(tmp_path: Path) -> None:
    program = """
    import pyflink.datastream as ds
    from pyflink.datastream import OutputTag

    def build(env: "ds.StreamExecutionEnvironment", tag: OutputTag):
        tag.get_java_output_tag()
        env.add_jars("a.jar")
        return env

    def main():
        made = build(None, None)
        made.add_jars("a.jar")
        with made.from_collection([]).execute_and_collect() as results:
            results.close()

    class Job:
        def __init__(self):
            self.env = ds.StreamExecutionEnvironment.get_execution_environment()

        def run(self):
            self.env.add_jars("a.jar")
    """
    add = "StreamExecutionEnvironment.add_jars"
    assert found(tmp_path, program) == [
        (6, "OutputTag.get_java_output_tag", "unsupported"),
        (7, add, "accepted"),
        (12, add, "accepted"),
        (21, add, "accepted"),
    ]


def test_functions_know_their_contexts(tmp_path: Path) -> None:
    program = """
    from headrace.datastream import KeyedProcessFunction
    from headrace.datastream.state import ValueStateDescriptor

    class Count(KeyedProcessFunction):
        def process_element(self, value, ctx):
            self.count.update(1)
            ctx.timer_service().register_event_time_timer(1)

        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))
    """
    (tmp_path / "job.py").write_text(dedent(program))
    names = {use.name for use in uses_of(tmp_path / "job.py")}
    assert {"RuntimeContext.get_state", "ValueState.update"} <= names
    assert "TimerService.register_event_time_timer" in names


def test_unknown_objects_and_other_libraries(tmp_path: Path) -> None:
    program = """
    import sqlite3
    from pyflink.datastream import StreamExecutionEnvironment
    def use(anything, pulsar):
        anything.add_classpaths("x")
        pulsar.set_start_cursor(None)
        anything.connect()
        sqlite3.connect("x").add_jars()
    """
    assert [(line, status) for line, _, status in found(tmp_path, program)] == [
        (5, "accepted"),
        (6, "unsupported"),
    ]


def test_configuration_keys(tmp_path: Path) -> None:
    program = """
    from pyflink.common import Configuration
    configuration = Configuration()
    configuration.set_string("pipeline.name", "a")
    configuration.set_string("web.upload.dir", "a")
    configuration.set_integer("taskmanager.numberOfTaskSlots", 1)
    configuration.set_string("pipeline.nmae", "a")
    """
    assert found(tmp_path, program) == [
        (5, "web.upload.dir", "accepted"),
        (6, "taskmanager.numberOfTaskSlots", "accepted"),
        (7, "pipeline.nmae", "unsupported"),
    ]


def test_sql_and_patterns_in_texts(tmp_path: Path) -> None:
    program = """
    import sqlite3
    from helpers import tables

    QUERY = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k)"
    sqlite3.connect("x").execute("SELECT * FROM t")
    tables().execute_sql("INSERT INTO out SELECT * FROM t")
    def use(t_env):
        return t_env.sql_query(QUERY)
    """
    assert found(tmp_path, program) == [
        (5, "MATCH_RECOGNIZE", "unsupported"),
    ]


def test_names_of_flink_1(tmp_path: Path) -> None:
    program = """
    from pyflink.common import ExecutionMode
    from pyflink.datastream import StreamExecutionEnvironment, TimeCharacteristic
    from pyflink.datastream.time_characteristic import TimeCharacteristic as Again
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.get_config().set_restart_strategy(None)
    env.no_method_of_any_flink()
    def use(env):
        env.set_stream_time_characteristic(None)
    import pyflink.dataset
    """
    assert found(tmp_path, program) == [
        (2, "pyflink.common.ExecutionMode", "unsupported"),
        (3, "pyflink.datastream.TimeCharacteristic", "unsupported"),
        (4, "pyflink.datastream.time_characteristic", "unsupported"),
        (6, "StreamExecutionEnvironment.set_stream_time_characteristic", "unsupported"),
        (7, "ExecutionConfig.set_restart_strategy", "unsupported"),
        (10, "StreamExecutionEnvironment.set_stream_time_characteristic", "unsupported"),
        (11, "pyflink.dataset", "unsupported"),
    ]
    reasons = {use.reason for use in uses_of(tmp_path / "job.py") if "TimeChar" in use.name}
    assert reasons == {"of Flink 1.x: leave it out: a watermark strategy gives event time"}


def test_what_of_flink_1_is_here_is_not_listed_as_missing() -> None:
    """A name that comes to Headrace must leave the list."""
    for name in REPLACEMENTS:
        owner, _, member = name.partition(".")
        if member and owner[0].isupper():
            kind = _api_class(owner)
            assert kind is not None and not hasattr(kind, member), name
        elif owner[0].isupper():
            assert _api_class(owner) is None, name
        else:
            assert find_spec(f"headrace.{name}") is None, name


def test_what_differs(tmp_path: Path) -> None:
    program = """
    from pyflink.common.typeinfo import DateTypeInfo
    DateTypeInfo().to_internal_type(None)
    """
    assert found(tmp_path, program) == [(3, "DateTypeInfo.to_internal_type", "differs")]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("import pyflink.fn_execution\n")
    (tmp_path / "bad.py").write_text(
        "import beside\nfrom pyflink.common import Types\nTypes.STRING()\n"
    )
    (tmp_path / "good.py").write_text("from pyflink.common import Types\nTypes.STRING()\n")
    bad = CliRunner().invoke(app, ["check", "bad.py"])
    assert bad.exit_code == 1
    assert bad.stdout.splitlines() == [
        "beside.py:1  does not work  pyflink.fn_execution: these are PyFlink's own workers; Spark"
        " has others",
        "",
        "Names used: 2 work, 0 are accepted and need no effect here, 0 differ, 1 do not work.",
    ]
    good = CliRunner().invoke(app, ["check", "good.py", "--all"])
    assert good.exit_code == 0
    assert "good.py:2  works  Types.STRING" in good.stdout
    report = json.loads(CliRunner().invoke(app, ["check", "bad.py", "--json"]).stdout)
    assert not report["works"]
    assert [(Path(use["file"]).name, use["line"], use["status"]) for use in report["uses"]] == [
        ("bad.py", 3, "works"),
        ("bad.py", 3, "works"),
        ("beside.py", 1, NOT),
    ]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def (:\n")
    for name, says in (("job.py", "cannot be read"), ("none.py", "no program")):
        raised = CliRunner().invoke(app, ["check", str(tmp_path / name)]).exception
        assert isinstance(raised, ConfigurationError) and says in str(raised)


def test_names_of_tables(tmp_path: Path) -> None:
    program = """
    from pyflink.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
    from pyflink.table.expressions import col
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.create_java_function("f", "org.Upper")
    rows = tables.from_elements([(1, "a")], ["id", "name"])
    sums = rows.filter(col("id") > 0).group_by(col("name")).select(col("name"), col("id").sum)
    sums.execute().print()
    sums.from_changelog()
    tables.get_config().set("table.local-time-zone", "UTC")
    tables.get_config().set("parallelism.defautl", "2")
    StreamTableEnvironment.create(env).load_module("m", None)
    """
    assert found(tmp_path, program) == [
        (5, "TableEnvironment.create_java_function", "unsupported"),
        (9, "Table.from_changelog", "unsupported"),
        (11, "parallelism.defautl", "unsupported"),
        (12, "StreamTableEnvironment.load_module", "unsupported"),
    ]
