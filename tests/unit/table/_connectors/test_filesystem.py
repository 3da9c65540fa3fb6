"""Tables in files: formats, folders of partitions, metadata, bad records."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common import Configuration
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import row_of
from headrace.connector import CommitterContext, WriterContext
from headrace.datastream.formats._parquet.batches import BatchReader
from headrace.errors import DecodeError, SqlValidationError
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    DecimalType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table._connectors.connector import MetadataField
from headrace.table._connectors.filesystem.connector import TableFileSource
from tests.unit.table.harness import columns, copy, rows, sink, source

TWO = columns(a=BIGINT, b=STRING)


def written(folder: Path) -> dict[str, str]:
    """Return the content of files, by their folder."""
    return {
        str(path.parent.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("part-*"))
        if ".headrace-staging" not in str(path)
    }


def test_json_files_become_csv_files_and_are_read_again(tmp_path: Path) -> None:
    given, made = tmp_path / "given", tmp_path / "made"
    (given / "deep").mkdir(parents=True)
    (given / "one.json").write_text('{"a": 1, "b": "x, y"}\n{"a": "2"}\n')
    (given / "deep" / "two.json").write_text('{"b": "z", "c": [], "a": 3}')
    read = source("filesystem", TWO, {"path": str(given), "format": "json"})
    write = sink("filesystem", TWO, {"path": str(made), "format": "csv"}, batch=True)

    copy(read, write)

    again = rows(source("filesystem", TWO, {"path": str(made), "format": "csv"}))
    assert sorted(map(tuple, again)) == [(1, "x, y"), (2, ""), (3, "z")]


def test_partitions_are_folders(tmp_path: Path) -> None:
    given, made = tmp_path / "given.json", tmp_path / "made"
    given.write_text('{"a": 1, "b": "x/y"}\n{"a": 2}\n{"a": 3, "b": "x/y"}\n')
    read = source("filesystem", TWO, {"path": str(given), "format": "json"})
    parts = {"partition_keys": ("b",)}
    to = {"path": str(made), "format": "json"}

    copy(read, sink("filesystem", TWO, to, batch=True, **parts))

    assert written(made) == {
        "b=x%2Fy": '{"a":1}\n{"a":3}\n',
        "b=__DEFAULT_PARTITION__": '{"a":2}\n',
    }
    again = rows(source("filesystem", TWO, to, **parts))
    assert sorted(map(tuple, again)) == [(1, "x/y"), (2, None), (3, "x/y")]


def test_metadata_of_files(tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    file.write_text("1\n")
    of = columns(a=INT, p=STRING, n=STRING, s=BIGINT, t=TimestampLtzType(3))
    keys = zip("pnst", ("path", "name", "size", "modification-time"), strict=True)
    metadata = tuple(MetadataField(name, f"file.{key}") for name, key in keys)

    options = {"path": str(tmp_path), "format": "csv"}
    (row,) = rows(source("filesystem", of, options, metadata=metadata))

    assert (row.a, row.p, row.n, row.s) == (1, str(file), "one.csv", 2)
    assert int(row.t.timestamp()) == int(file.stat().st_mtime)


def test_a_bad_record_ends_the_job_with_its_bytes_and_position(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"a": 1}\n{"a": "x"}\n')
    read = source("filesystem", TWO, {"path": str(tmp_path), "format": "json"})
    with pytest.raises(DecodeError) as raised:
        rows(read)
    assert "field 'a'" in str(raised.value)
    assert '{"a": "x"}' in str(raised.value)
    assert "position: 9" in str(raised.value)
    assert raised.value.hint is not None and "'json.ignore-parse-errors'" in raised.value.hint


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        ("json", '{"a": 1, "b": "x"}', ['{"a": 1', "1"]),
        ("csv", "1,x", ["1,x,2", '1,"x']),
        ("debezium-json", '{"op": "c", "after": {"a": 1, "b": "x"}}', ['{"op": "x"}', "{"]),
    ],
)
def test_records_that_are_skipped_are_counted(
    format_: str, good: str, bad: list[str], tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("\n".join([*[good] * 100, bad[0], good, bad[1]]) + "\n")
    options = {"path": str(tmp_path), "format": format_, f"{format_}.ignore-parse-errors": "true"}

    result = copy(source("filesystem", TWO, options), sink("blackhole", TWO, {}))

    assert result.get_accumulator_result("numRecordsSkipped") == 2
    assert result.get_accumulator_result("numRecordsIn") == 101


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "json"}, "needs the option 'path'"),
        ({"path": "x"}, "table 't' needs a format"),
        ({"path": "x", "format": "jason"}, "did you mean 'json'?"),
        ({"path": "x", "format": "json", "json.ignore-parse-error": "true"}, "ignore-parse-errors"),
        ({"path": "x", "format": "csv", "csv.allow-comments": "maybe"}, "true or false"),
        (
            {"path": "x", "format": "csv", "sink.partition-commit.delay": "1 s"},
            "of Flink is not supported",
        ),
        ({"path": "x", "format": "csv", "json.ignore-parse-errors": "true"}, "unknown option"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(SqlValidationError) as raised:
        source("filesystem", TWO, options)
    assert said in str(raised.value)


def test_folders_of_flink(tmp_path: Path) -> None:
    """The folder that Flink 2.3 wrote for these values."""
    of = columns(
        a=INT,
        p=BOOLEAN,
        q=TimestampType(3),
        r=DOUBLE,
        s=TimeType(0),
        u=DecimalType(5, 2),
        d=DATE,
    )
    folder = tmp_path / ("p=true/q=2020-01-02T03%3A04%3A05.120/r=1.5/s=11045000/u=1.50/d=18263")
    folder.mkdir(parents=True)
    (folder / "x").write_text("1\n")
    parts = {"partition_keys": ("p", "q", "r", "s", "u", "d")}
    read = source("filesystem", of, {"path": str(tmp_path), "format": "csv"}, **parts)
    (row,) = rows(read)
    assert (row.a, row.p, row.r, row.u) == (1, True, 1.5, Decimal("1.50"))
    assert row.q == datetime.datetime(2020, 1, 2, 3, 4, 5, 120_000)
    assert (row.s, row.d) == (datetime.time(3, 4, 5), datetime.date(2020, 1, 2))

    made = tmp_path / "made"
    copy(read, sink("filesystem", of, {"path": str(made), "format": "csv"}, batch=True, **parts))
    assert written(made) == {str(folder.relative_to(tmp_path)): "1\n"}


@pytest.mark.capability("SQL: tables in files: csv, json, avro, parquet", runners="local")
@pytest.mark.parametrize("name", ["json", "csv", "avro", "parquet"])
def test_every_format_reads_what_it_wrote(tmp_path: Path, name: str) -> None:
    of = columns(a=BIGINT, b=STRING, c=DecimalType(10, 2), t=TimestampType(3), d=DATE, f=DOUBLE)
    made = {"number-of-rows": "200", "rows-per-second": "1000000"}
    given = source("datagen", of, made | {"fields.a.null-rate": "0"})
    to = {"path": str(tmp_path), "format": name}
    copy(given, sink("filesystem", of, to, batch=True))
    found = rows(source("filesystem", of, to))
    expected = rows(given)
    assert len(found) == 200
    # Timestamps are those of the run.
    assert sorted((r.a, r.b, r.c, r.f) for r in found) == sorted(
        (r.a, r.b, r.c, r.f) for r in expected
    )


def test_a_quoted_field_may_have_line_ends(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('1,"a\nb"\n2,"c"\n3,"\n\n"\n')
    found = rows(source("filesystem", TWO, {"path": str(tmp_path), "format": "csv"}))
    assert [*map(tuple, found)] == [(1, "a\nb"), (2, "c"), (3, "\n\n")]


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_a_file_is_cut_only_between_records(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.csv"
    plain = [f'{number},"text {number}"' for number in range(9_000)]  # more than a sample
    ends = [f'{number},"a\nb,""c""\n{number}"' for number in range(9_000, 9_100)]
    path.write_text("\n".join(['1,5" pipe', *plain, *ends]))
    read = source("filesystem", TWO, {"path": str(path), "format": "csv"}).source
    assert isinstance(read, TableFileSource)
    form, extent = read.format, path.stat().st_size
    whole = [row for chunk in form.read(str(path), 0, extent, extent) for row in chunk.values]
    assert len(whole) == 9_101 and whole[-1].b == 'a\nb,"c"\n9099'

    start = form.align(str(path), extent - 3_000, extent)
    cuts = [0, start, *form.cuts(str(path), start, extent, size), extent]
    found = [
        row
        for at, to in pairwise(cuts)
        for chunk in form.read(str(path), at, to, extent)
        for row in chunk.values
    ]
    assert found == whole
    inside = form.align(str(path), start + 1, extent, start)
    assert inside in (*form.cuts(str(path), start, extent, 1), extent)


def test_debezium_files_are_a_changelog(tmp_path: Path) -> None:
    old, new = '{"a":1,"b":"x"}', '{"a":1,"b":"y"}'
    (tmp_path / "x.json").write_text(
        f'{{"before":null,"after":{old},"op":"c"}}\n'
        f'{{"before":{old},"after":{new},"op":"u"}}\n'
        f'{{"before":{new},"after":null,"op":"d"}}\n'
    )
    read = source("filesystem", TWO, {"path": str(tmp_path), "format": "debezium-json"})
    assert read.mode == ChangelogMode.all()
    found = [f"{row.get_row_kind().sign}{row.b}" for row in rows(read)]
    assert found == ["+Ix", "-Ux", "+Uy", "-Dy"]

    made = tmp_path / "made"
    copy(read, sink("filesystem", TWO, {"path": str(made), "format": "debezium-json"}, batch=True))
    (text,) = written(made).values()
    assert text.count('"op":"c"') == 2 and text.count('"op":"d"') == 2


def test_a_commit_that_overwrites_can_be_repeated(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "b=x").mkdir(parents=True)
    (made / "b=y").mkdir()
    old = [made / "b=x" / "old.json", made / "b=y" / "old.json"]
    for path in old:
        path.write_text('{"a": 1}\n')
    to = {"path": str(made), "format": "json"}
    write = sink("filesystem", TWO, to, partition_keys=("b",), batch=True, overwrite=True).sink
    context = WriterContext("sink", "job", 0, 0, "a")
    writer = write.writer(context)
    writer.write([row_of(("a", "b"), [2, "x"])], [None])
    prepared = [writer.prepare_commit()]
    committer = write.committer(CommitterContext("sink", "job"))
    for _ in range(2):
        committer.commit(0, prepared)
        assert [path.exists() for path in old] == [False, True]
        assert written(made) == {"b=x": '{"a":2}\n'}


def test_a_table_of_parquet_is_read_once_by_queries_that_filter_and_that_do_not(
    tmp_path: Path,
) -> None:
    given = pa.table({"s": ["a", "b", None, "a"] * 5_000, "n": range(20_000)})
    (tmp_path / "day=1").mkdir()
    pq.write_table(given, tmp_path / "day=1" / "x.parquet")
    config = Configuration()
    config.set_string("execution.target", "local")
    config.set_string("pipeline.operator-chaining.enabled", "false")
    settings = EnvironmentSettings.new_instance().in_batch_mode().with_configuration(config)
    env = TableEnvironment.create(settings.build())
    env.execute_sql(
        f"CREATE TABLE t (s STRING, n BIGINT, day_ STRING METADATA FROM 'file.name')"
        f" WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'parquet')"
    )
    query = (
        "SELECT s, COUNT(*), MIN(n) FROM (SELECT s, n FROM t WHERE s LIKE 'a%'"
        " UNION ALL SELECT s, n FROM t) GROUP BY s"
    )
    with env.execute_sql(query).collect() as found:
        counts = {row[0]: (row[1], row[2]) for row in found}
    assert counts == {"a": (20_000, 0), "b": (5_000, 1), None: (5_000, 2)}
    assert env.explain_sql(query).count("Source t [uid=") == 1


def test_rows_of_parquet_are_read_after_an_error_of_the_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"a": [*range(1000)], "b": ["x"] * 1000}), tmp_path / "x.parquet")
    read = BatchReader.read
    failed: list[bool] = []

    def fails_once(self: BatchReader, path: str, start: int, end: int) -> Iterator[Any]:
        if failed:
            yield from read(self, path, start, end)
            return
        failed.append(True)
        yield next(read(self, path, start, end)).slice(0, 10)
        raise OSError("the connection was reset")

    monkeypatch.setattr(BatchReader, "read", fails_once)
    found = rows(source("filesystem", TWO, {"path": str(tmp_path), "format": "parquet"}))
    assert failed and [row.a for row in found] == [*range(1000)]


def test_a_file_is_published_at_its_age_though_no_row_comes(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "x.csv").write_text("1,a\n")
    config = Configuration.from_dict({"execution.target": "local"})
    made = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config)
    t_env = TableEnvironment.create(made.build())
    for name, more in (
        ("given", "'source.monitor-interval' = '1 s'"),
        ("made", "'sink.rolling-policy.rollover-interval' = '200 ms'"),
    ):
        t_env.execute_sql(
            f"CREATE TABLE {name} (a INT, b STRING) WITH ('connector' = 'filesystem',"
            f" 'path' = '{tmp_path}/{name}', 'format' = 'csv', {more})"
        )
    client = t_env.execute_sql("INSERT INTO made SELECT * FROM given").get_job_client()
    assert client is not None
    try:
        deadline = time.monotonic() + 30
        while not written(tmp_path / "made") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert written(tmp_path / "made") == {".": "1,a\n"}
    finally:
        client.cancel().result()
