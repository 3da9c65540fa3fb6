"""Tables in files give only the columns that statements read."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common import Configuration
from headrace.common._storage.file_system import ListedFile
from headrace.errors import DecodeError
from headrace.sql.types import BIGINT, DATE, INT, STRING, TimestampLtzType
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table._connectors.connector import MetadataField
from headrace.table._connectors.filesystem.file_columns import FileColumns
from tests.unit.sql.reading import expression
from tests.unit.table.harness import columns, copy, rows, sink, source

FORMATS = ("csv", "json", "avro", "parquet")
IN_FILES = columns(a=INT, b=STRING, d=DATE)
OF = IN_FILES + columns(p=STRING, n=STRING)
SUBSETS = [
    subset
    for size in range(1, len(OF) + 1)
    for subset in itertools.combinations([each.name for each in OF], size)
]
LINES = '{"a": 1, "b": "x", "d": "2020-01-31"}\n{"b": "y, z"}\n{"a": 3, "d": "2021-02-28"}\n'


def table(folder: Path, name: str, read: tuple[str, ...] | None) -> Any:
    options = {"path": str(folder), "format": name}
    if name == "csv":
        options["csv.null-literal"] = "NULL"
    metadata = (MetadataField("n", "file.name"),)
    return source(
        "filesystem", OF, options, metadata=metadata, partition_keys=("p",), projection=read
    )


@pytest.fixture(scope="module", params=FORMATS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    name, folder = request.param, tmp_path_factory.mktemp("written")
    (folder / "given.json").write_text(LINES)
    given = source("filesystem", IN_FILES, {"path": str(folder / "given.json"), "format": "json"})
    options = {"path": str(folder / "p=one"), "format": name}
    if name == "csv":
        options["csv.null-literal"] = "NULL"
    copy(given, sink("filesystem", IN_FILES, options, batch=True))
    return folder / "p=one", name


def test_each_choice_of_columns_gives_their_values(written: Any) -> None:
    whole = rows(table(*written, None))
    assert len(whole) == 3
    assert {row.p for row in whole} == {"one"}
    for read in SUBSETS:
        found = rows(table(*written, read))
        assert [tuple(row) for row in found] == [
            tuple(getattr(row, name) for name in read) for row in whole
        ], read


@pytest.mark.parametrize("bad", [["{}", '{"a": "x", "b": "y"}'], ["{}"] * 100 + ['{"a": "x"}']])
def test_a_field_that_is_not_read_may_be_wrong(tmp_path: Path, bad: list[str]) -> None:
    (tmp_path / "one.json").write_text("\n".join(bad))
    of, options = columns(a=INT, b=STRING), {"path": str(tmp_path), "format": "json"}
    assert len(rows(source("filesystem", of, options, projection=("b",)))) == len(bad)
    with pytest.raises(DecodeError, match="field 'a'"):
        rows(source("filesystem", of, options, projection=("a",)))


@pytest.mark.parametrize("count", [1, 100])
def test_a_line_of_csv_has_the_fields_of_all_columns(tmp_path: Path, count: int) -> None:
    file = tmp_path / "one.csv"
    of, options = columns(a=INT, b=STRING), {"path": str(tmp_path), "format": "csv"}
    file.write_text("x,y\n" * count)
    found = rows(source("filesystem", of, options, projection=("b",)))
    assert [tuple(row) for row in found] == [("y",)] * count
    file.write_text("1,y\n" * count + "1,y,z\n")
    with pytest.raises(DecodeError, match="2 fields expected but was 3"):
        rows(source("filesystem", of, options, projection=("b",)))
    lenient = options | {"csv.ignore-parse-errors": "true"}
    file.write_text("1,y\n" * count + "2\n")
    found = rows(source("filesystem", of, lenient, projection=("b",)))
    assert [tuple(row) for row in found] == [("y",)] * count + [(None,)]


def test_a_changelog_is_read_whole(tmp_path: Path) -> None:
    after = '{"op": "c", "after": {"a": 1, "b": "x"}}'
    (tmp_path / "one.json").write_text(after)
    env = environment()
    env.execute_sql(
        "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'filesystem', 'format' ="
        f" 'debezium-json', 'path' = '{tmp_path}')"
    )
    assert "fields=[a, b]" in env.explain_sql("SELECT a FROM t")


def environment(*, batch: bool = False) -> TableEnvironment:
    config = Configuration()
    config.set_string("execution.target", "local")
    settings = EnvironmentSettings.new_instance().with_configuration(config)
    mode = settings.in_batch_mode() if batch else settings.in_streaming_mode()
    return TableEnvironment.create(mode.build())


@pytest.fixture
def wide(tmp_path: Path) -> TableEnvironment:
    given = {"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [10, 20, 30], "t": ["unread"] * 3}
    pq.write_table(pa.table(given), tmp_path / "one.parquet")
    env = environment()
    env.execute_sql(
        "CREATE TABLE t (a BIGINT, b STRING, c BIGINT, t STRING) WITH ('connector' ="
        f" 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}')"
    )
    return env


def results(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(query).collect() as found:
        return [tuple(row) for row in found]


@pytest.mark.parametrize(
    ("query", "read", "result"),
    [
        ("SELECT b, a FROM t WHERE c > 10", "a, b, c", [("y", 2), ("x", 3)]),
        ("SELECT b FROM t WHERE b LIKE 'x%'", "b", [("x",), ("x",)]),
        ("SELECT * FROM t WHERE a = 2", "a, b, c, t", [(2, "y", 20, "unread")]),
        ("SELECT 7 FROM t", "a", [(7,)] * 3),
    ],
)
def test_explain_names_the_columns_that_are_read(
    wide: TableEnvironment, query: str, read: str, result: list[Any]
) -> None:
    assert f"fields=[{read}])" in wide.explain_sql(query)
    assert results(wide, query) == result


def test_rows_are_counted_by_a_short_column(wide: TableEnvironment) -> None:
    query = "SELECT COUNT(*) FROM t"
    assert "fields=[a])" in wide.explain_sql(query)
    assert results(wide, query)[-1] == (3,)


def test_a_table_that_is_read_twice_is_one_source(wide: TableEnvironment) -> None:
    query = "SELECT a FROM t UNION ALL SELECT c FROM t WHERE b = 'x'"
    plan = wide.explain_sql(query)
    assert plan.count("fields=[a, b, c])") == 2
    assert plan.count("Source t [uid=") == 1
    assert sorted(results(wide, query)) == [(1,), (2,), (3,), (10,), (30,)]


def test_the_inserts_of_a_job_share_a_source(wide: TableEnvironment) -> None:
    wide.execute_sql("CREATE TABLE o1 (a BIGINT) WITH ('connector' = 'blackhole')")
    wide.execute_sql("CREATE TABLE o2 (b STRING) WITH ('connector' = 'blackhole')")
    both = wide.create_statement_set()
    both.add_insert_sql("INSERT INTO o1 SELECT a FROM t")
    both.add_insert_sql("INSERT INTO o2 SELECT b FROM t")
    plan = both.explain()
    assert plan.count("fields=[a, b])") == 2
    assert plan.count("Source t [uid=") == 1


@pytest.fixture
def days(tmp_path: Path) -> Path:
    for day, text in (("1", '{"a": 1}'), ("2", '{"a": 2}'), ("__DEFAULT_PARTITION__", '{"a": 3}')):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "one.json").write_text(text)
    return tmp_path


def with_table_of_days(folder: Path, *, batch: bool = False, **options: str) -> TableEnvironment:
    env = environment(batch=batch)
    more = "".join(f", '{key}' = '{value}'" for key, value in options.items())
    env.execute_sql(
        "CREATE TABLE t (a BIGINT, `day` INT, f STRING METADATA FROM 'file.path') PARTITIONED BY"
        f" (`day`) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}'{more})"
    )
    return env


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize(
    ("where", "result"),
    [
        ("`day` = 2", [(2,)]),
        ("`day` < 5 AND a > 0", [(1,), (2,)]),
        ("`day` IS NULL", [(3,)]),
        ("`day` IN (1, 7) OR f LIKE '%DEFAULT%'", [(1,), (3,)]),
        ("`day` = 9", []),
    ],
)
def test_files_of_other_partitions_are_not_read(
    days: Path, where: str, result: list[Any], batch: bool
) -> None:
    expected = {f"day={'__DEFAULT_PARTITION__' if a == 3 else a}" for (a,) in result}
    for path in days.iterdir():
        if path.name not in expected:
            (path / "one.json").write_text("no JSON at all")
    env = with_table_of_days(days, batch=batch)
    query = f"SELECT a FROM t WHERE {where}"
    assert sorted(results(env, query)) == result
    assert "filesWhere=[" in env.explain_sql(query)


def test_rows_of_no_file_are_counted(days: Path) -> None:
    env = with_table_of_days(days, batch=True)
    assert results(env, "SELECT COUNT(*) FROM t WHERE `day` = 9") == [(0,)]


def test_the_watermark_of_a_stream_needs_all_files(days: Path) -> None:
    for batch in (True, False):
        env = environment(batch=batch)
        env.execute_sql(
            "CREATE TABLE t (a BIGINT, `day` INT, ts AS TO_TIMESTAMP_LTZ(a, 3), WATERMARK FOR ts"
            " AS ts) PARTITIONED BY (`day`) WITH ('connector' = 'filesystem', 'format' = 'json',"
            f" 'path' = '{days}')"
        )
        query = "SELECT a FROM t WHERE `day` = 2"
        assert ("filesWhere=[" in env.explain_sql(query)) is batch
        assert results(env, query) == [(2,)]


def test_files_are_chosen_by_what_was_listed() -> None:
    """No file is opened, and none need be there any more."""
    of = columns(a=INT, f=STRING, s=BIGINT, m=TimestampLtzType(3))
    keys = {"f": "file.name", "s": "file.size", "m": "file.modification-time"}
    metadata = tuple(MetadataField(name, f"{key}") for name, key in keys.items())
    kinds = {each.name: each.type for each in of}
    where = expression("f LIKE 'a%' AND s > 9 AND m > TO_TIMESTAMP_LTZ(500, 3)", kinds)
    made = FileColumns(of, metadata, projection=("a",), where=where)
    for each in (made, pickle.loads(pickle.dumps(made))):
        assert each.takes(ListedFile("/gone/ab", 10, 501))
        assert not each.takes(ListedFile("/gone/ab", 10, 500))
        assert not each.takes(ListedFile("/gone/b", 10, 501))
        assert not each.takes(ListedFile("/gone/ab", 9, 501))


def test_all_files_are_read_where_one_statement_needs_them(days: Path) -> None:
    env = with_table_of_days(days)
    query = "SELECT a FROM t WHERE `day` = 2 UNION ALL SELECT -a FROM t"
    assert sorted(results(env, query)) == [(-3,), (-2,), (-1,), (2,)]


def test_a_partition_that_appears_later_is_read(days: Path) -> None:
    env = with_table_of_days(days, **{"source.monitor-interval": "10 ms"})
    (days / "day=1" / "one.json").write_text("no JSON at all")
    result = env.execute_sql("SELECT a FROM t WHERE `day` >= 2 OR `day` IS NULL")
    with result.collect() as found:
        rows_ = iter(found)
        assert sorted([tuple(next(rows_)), tuple(next(rows_))]) == [(2,), (3,)]
        (days / "day=7").mkdir()
        (days / "day=7" / ".one").write_text('{"a": 7}')
        (days / "day=7" / ".one").rename(days / "day=7" / "one.json")
        assert tuple(next(rows_)) == (7,)
