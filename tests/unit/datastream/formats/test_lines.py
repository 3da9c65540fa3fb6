"""Lines: any cuts give the same lines."""

from __future__ import annotations

import gzip
import pickle
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.datastream.formats._lines import (
    JsonLinesFormat,
    StreamFormat,
    TextLineFormat,
    line_runs,
)
from headrace.errors import PlanError


def read(format_: StreamFormat, path: Path, cuts: list[int]) -> tuple[list[Any], list[Any]]:
    extent = path.stat().st_size
    bounds = [0, *sorted(cut for cut in set(cuts) if 0 < cut < extent), extent]
    chunks = [
        chunk
        for start, end in pairwise(bounds)
        for chunk in format_.read(str(path), start, end, extent)
    ]
    values = [value for chunk in chunks for value in chunk.values]
    return values, [bad for chunk in chunks for _, bad in chunk.bad]


@given(
    content=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"{}", b"\xff"])),
    cuts=st.lists(st.integers(0, 60)),
)
def test_any_cuts_give_the_lines_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, content: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(content)
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(data)
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    ends = [line[:-1] if line.endswith(b"\r") else line for line in lines[:-1]] + lines[-1:]
    if data.endswith(b"\n"):
        ends = [line.removesuffix(b"\r") for line in lines]
    values, _ = read(StreamFormat.bytes_line_format(with_position=True), path, cuts)
    assert [line for line, _, _ in values] == ends
    for line, _, offset in values:
        assert data[offset:].startswith(line)
        assert offset == 0 or data[offset - 1] == ord("\n")
    text, bad = read(TextLineFormat(), path, cuts)
    assert sorted([*(line.encode() for line in text), *(b.raw for b in bad)]) == sorted(ends)


@given(position=st.integers(0, 30), lines=st.lists(st.sampled_from(["", "a", "bcdef"])))
def test_align_gives_the_next_line_start(
    tmp_path_factory: pytest.TempPathFactory, position: int, lines: list[str]
) -> None:
    data = "\n".join(lines).encode()
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(data)
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n")), len(data)]
    aligned = TextLineFormat().align(str(path), position, len(data))
    assert aligned == min((start for start in starts if start >= position), default=len(data))


def test_a_long_line_is_not_read_by_the_ranges_inside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1_000_000 + b"\nend\n")

    class Counting:
        def __init__(self) -> None:
            self.file, self.taken = open(path, "rb"), 0  # noqa: SIM115 - closed below

        def __getattr__(self, name: str) -> Any:
            method = getattr(self.file, name)

            def call(*arguments: Any) -> Any:
                result = method(*arguments)
                if name in ("readline", "readlines"):
                    self.taken += sum(map(len, [result] if name == "readline" else result))
                return result

            return call

    counting: Any = Counting()
    assert list(line_runs(counting, 1000, 2000, 1_000_005)) == []
    counting.file.close()
    assert counting.taken <= 1001


def test_charsets(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("ä\nö".encode("latin-1"))
    latin = StreamFormat.text_line_format("ISO-8859-1")
    assert read(latin, tmp_path / "file", [1]) == (["ä", "ö"], [])
    for wrong in ("UTF-16", "no-such-charset"):
        with pytest.raises(PlanError):
            StreamFormat.text_line_format(wrong)


def test_json_lines_keep_numbers_as_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"a": 1.10, "b": 2}\n\n  \n{"a": 1e400}\n')
    exact, bad = read(JsonLinesFormat(decimal=True), tmp_path / "file", [])
    assert exact == [{"a": Decimal("1.10"), "b": 2}, {"a": Decimal("1e400")}]
    assert str(exact[0]["a"]) == "1.10"
    assert bad == []
    assert read(JsonLinesFormat(), tmp_path / "file", [])[0][0] == {"a": 1.1, "b": 2}


def test_bad_lines_keep_their_place_among_the_good(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b'{"a":1}\nx\n{"a":2}\ny\nz\n')
    (chunk,) = JsonLinesFormat().read(str(tmp_path / "file"), 0, 22, 22)
    assert chunk.values == [{"a": 1}, {"a": 2}]
    assert [(at, bad.raw, bad.position) for at, bad in chunk.bad] == [
        (1, b"x", 8),
        (2, b"y", 18),
        (2, b"z", 20),
    ]


def test_what_could_be_unpacked_of_a_cut_file_is_given(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b'{"n":%d}\n' % n for n in range(200_000)))
    (tmp_path / "a.gz").write_bytes(packed[: len(packed) // 2])
    values, bad = read(JsonLinesFormat(), tmp_path / "a.gz", [])
    assert len(values) > 1000
    assert values == [{"n": n} for n in range(len(values))]
    assert len(bad) == 1
    assert bad[0].position > 1000


@pytest.mark.parametrize(
    "made", [TextLineFormat(), JsonLinesFormat(True), StreamFormat.bytes_line_format(True)]
)
def test_formats_are_values(made: StreamFormat) -> None:
    assert pickle.loads(pickle.dumps(made)) == made
