"""Tables in files: formats, folders of partitions, metadata, bad records."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import DecodeError, SqlValidationError
from headrace.sql.types import BIGINT, INT, STRING, TimestampLtzType
from headrace.table._connectors.connector import MetadataColumn
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
    metadata = tuple(MetadataColumn(name, f"file.{key}", virtual=True) for name, key in keys)

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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "json"}, "needs the option 'path'"),
        ({"path": "x"}, "a table needs a format"),
        ({"path": "x", "format": "jason"}, "did you mean 'json'?"),
        ({"path": "x", "format": "json", "json.ignore-parse-error": "true"}, "ignore-parse-errors"),
        ({"path": "x", "format": "csv", "csv.allow-comments": "maybe"}, "true or false"),
        ({"path": "x", "format": "csv", "json.ignore-parse-errors": "true"}, "unknown option"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(SqlValidationError) as raised:
        source("filesystem", TWO, options)
    assert said in str(raised.value)
