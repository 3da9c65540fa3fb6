"""Lines of files as rows: where files are cut, and which lines are bad."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.errors import JobError
from headrace.sql.types import INT, STRING
from headrace.table._connectors.filesystem.connector import TableFileSource
from headrace.table._connectors.filesystem.lines import TableLines, _BadLines
from tests.unit.table.harness import columns, source

TWO = columns(a=INT, b=STRING)


def lines_of(path: Path) -> TableLines:
    found = source("filesystem", TWO, {"path": str(path), "format": "csv"}).source
    assert isinstance(found, TableFileSource) and isinstance(found.format, TableLines)
    return found.format


def test_a_file_that_became_shorter_within_a_quoted_field_has_no_next_record(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.csv"
    path.write_text('1,"a\nb')
    with pytest.raises(JobError, match="ends at byte 6, and had at least 100 bytes"):
        lines_of(path).align(str(path), 3, 100)


def test_a_file_is_not_read_to_find_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert lines_of(path).align(str(path), 50, 50) == 50  # there is no file


def test_bad_lines_are_found_in_order() -> None:
    block = b"a\r\n\nbb\nc"
    find = _BadLines("x", 100, block)
    found: list[Any] = [find(index, "bad") for index in (0, 1, 2, 2, 3)]
    assert [(each.raw, each.position) for each in found] == [
        (b"a", 100),
        (b"", 103),
        (b"bb", 104),
        (b"bb", 104),
        (b"c", 107),
    ]
