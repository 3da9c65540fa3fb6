"""A folder watched for new files: each exactly once, in the order of discovery."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace.common._storage.file_system import ListedFile
from headrace.common.time import Duration
from headrace.connector import Budget, Source, SplitEnumerator
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.errors import CheckpointError, JobError
from headrace.testing._contracts import NO_LIMIT, START_MS, SourceContract

SECOND = Duration.of_seconds(1)


def watch(folder: Path, interval: Any = SECOND) -> FileSource:
    text = StreamFormat.text_line_format()
    return (
        FileSource.for_record_stream_format(text, str(folder))
        .monitor_continuously(interval)
        .build()
    )


def put(folder: Path, name: str, *lines: str, mtime: int = 1) -> None:
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    os.utime(folder / name, (mtime, mtime))


class TestMonitoredFolder(SourceContract):
    def make_source(self, folder: Path) -> Source:
        put(folder, "c", *(f"c{n}" for n in range(40)), mtime=1)
        put(folder, "a", *(f"a{n}" for n in range(40)), mtime=2)
        put(folder, "empty", mtime=3)
        put(folder, "b", *(f"b{n}" for n in range(40)), mtime=3)
        return watch(folder)

    def expected(self) -> Sequence[Any]:
        return [f"{name}{n}" for name in "cab" for n in range(40)]

    def grow(self, folder: Path) -> None:
        put(folder, "b", *(f"b{n}" for n in range(90)), mtime=9)
        put(folder, "_later", "later", mtime=0)
        (folder / "_later").rename(folder / "0")

    def test_files_come_in_the_order_of_time_and_name(
        self, source: Source, directory: Path
    ) -> None:
        assert drain(source, source.enumerator(str(directory)), {})[0] == self.expected()


def drain(
    source: Source,
    enumerator: SplitEnumerator,
    positions: Mapping[str, Any],
    now_ms: int = START_MS,
    budget: Budget = NO_LIMIT,
) -> tuple[list[Any], Mapping[str, Any]]:
    """The values of one step, and the positions behind it."""
    start = dict(positions) or dict(enumerator.initial(now_ms))
    end = enumerator.advance(start, budget, now_ms, frozenset()).positions
    reader = source.reader()
    ranges = enumerator.ranges(start, end, frozenset())
    return [value for r in ranges for chunk in reader.read(r) for value in chunk.values], end


def test_new_files_come_no_more_often_than_the_interval(tmp_path: Path) -> None:
    folder, log = tmp_path / "in", tmp_path / "log"
    folder.mkdir()
    source = watch(folder, timedelta(seconds=5))
    assert not source.bounded
    enumerator = source.enumerator(str(log))
    put(folder, "a", "1")
    values, at = drain(source, enumerator, {})
    assert values == ["1"]
    put(folder, "b", "2")
    assert drain(source, enumerator, at, START_MS + 4999) == ([], at)
    values, at = drain(source, enumerator, at, START_MS + 5000)
    assert values == ["2"]
    # A restarted enumerator looks at once, and gives no file twice.
    put(folder, "0", "3", mtime=0)
    values, at = drain(source, source.enumerator(str(log)), at, START_MS + 5001)
    assert values == ["3"]
    assert at == {"folder": [3, 0]}


@dataclass(frozen=True)
class FilesOf(FileSource):
    """The files whose names begin with one of some letters."""

    letters: str = ""

    def takes(self, file: ListedFile) -> bool:
        return Path(file.path).name[0] in self.letters


def test_files_that_were_left_out_are_read_by_a_later_program_that_takes_them(
    tmp_path: Path,
) -> None:
    folder, log = tmp_path / "in", tmp_path / "log"
    folder.mkdir()
    for number, name in enumerate("abc"):
        put(folder, name, str(number))
    watched = watch(folder)
    given = {each.name: getattr(watched, each.name) for each in fields(watched)}
    source = FilesOf(**given, letters="b")
    values, at = drain(source, source.enumerator(str(log)), {})
    assert values == ["1"]
    source = FilesOf(**given, letters="bc")
    values, at = drain(source, source.enumerator(str(log)), at)
    assert values == ["2"]
    static = replace(source, discovery_interval_ms=None, letters="a")
    assert [*static.enumerator(str(log)).initial(START_MS)] == [f"0000:{folder / 'a'}"]


def test_no_file_is_read_twice_where_paths_become_absolute_or_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster paths are made absolute, elsewhere they stay as they are given."""
    monkeypatch.chdir(tmp_path)
    folder, log = Path("in"), str(tmp_path / "log")
    folder.mkdir()
    relative, whole = watch(folder), watch(folder).absolute()
    put(folder, "a", "1", "2")
    put(folder, "b", "3", mtime=2)
    one = Budget(1, 1 << 20)
    first, at = drain(relative, relative.enumerator(log), {}, budget=one)
    enumerator = whole.enumerator(log)
    end = enumerator.advance(at, NO_LIMIT, START_MS, frozenset()).positions
    for each in enumerator.ranges(at, end, frozenset()):
        assert Path(each.payload[0]).is_absolute()
    rest, at = drain(whole, enumerator, at)
    assert first + rest == ["1", "2", "3"]
    put(folder, "c", "4", mtime=3)
    values, at = drain(whole, whole.enumerator(log), at)
    assert values == ["4"]
    put(folder, "d", "5", mtime=4)
    assert drain(relative, relative.enumerator(log), at)[0] == ["5"]


def test_a_list_of_files_goes_on_with_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(Path(), "a", "1", "2")
    text = StreamFormat.text_line_format()
    relative = FileSource.for_record_stream_format(text, "a").build()
    first, at = drain(relative, relative.enumerator(""), {}, budget=Budget(1, 1 << 20))
    whole = relative.absolute()
    enumerator = whole.enumerator("")
    progress = enumerator.advance(at, NO_LIMIT, START_MS, frozenset())
    finished = progress.finished
    assert isinstance(finished, dict)
    (read,) = enumerator.ranges(at, finished, frozenset(finished))
    assert read.payload[0] == str(tmp_path / "a")
    values = [value for chunk in whole.reader().read(read) for value in chunk.values]
    assert first + values == ["1", "2"]


def test_unfinished_and_hidden_files_are_left(tmp_path: Path) -> None:
    for name in (".a", "_b", "c.tmp", "d.part", "e._COPYING_"):
        put(tmp_path, name, "no")
    source, log = watch(tmp_path), tmp_path / "_log"
    values, at = drain(source, source.enumerator(str(log)), {})
    assert values == []
    os.rename(tmp_path / "c.tmp", tmp_path / "c")
    assert drain(source, source.enumerator(str(log)), at)[0] == ["no"]


def test_a_file_that_grows_is_not_read_again(tmp_path: Path) -> None:
    source, log = watch(tmp_path), str(tmp_path / "_log")
    put(tmp_path, "a", "one")
    values, at = drain(source, source.enumerator(log), {})
    put(tmp_path, "a", "one", "two", mtime=5)
    assert values == ["one"]
    assert drain(source, source.enumerator(log), at)[0] == []


def test_the_log_is_written_before_a_position_refers_to_it(tmp_path: Path) -> None:
    source, log = watch(tmp_path), tmp_path / "_log"
    put(tmp_path, "a", "one", "two")
    enumerator = source.enumerator(str(log))
    start = enumerator.initial(START_MS)
    end = enumerator.advance(start, Budget(1, 1), START_MS, frozenset()).positions
    assert end == {"folder": [0, 4]}
    (entry,) = map(json.loads, (log / "discovered.jsonl").read_text().splitlines())
    assert (entry["path"], entry["extent"]) == (str(tmp_path / "a"), 8)
    planned = source.enumerator(str(log)).ranges(start, end, frozenset())
    assert planned == enumerator.ranges(start, end, frozenset())


def test_a_log_cut_short_by_a_crash_is_mended(tmp_path: Path) -> None:
    source, log = watch(tmp_path), tmp_path / "_log"
    put(tmp_path, "a", "one")
    _, at = drain(source, source.enumerator(str(log)), {})
    with open(log / "discovered.jsonl", "a") as file:
        file.write('{"path": "/half')
    put(tmp_path, "b", "two")
    assert drain(source, source.enumerator(str(log)), at)[0] == ["two"]
    for line in (log / "discovered.jsonl").read_text().splitlines():
        assert json.loads(line)["extent"] == 4


def test_a_damaged_log_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "_log"
    log.mkdir()
    (log / "discovered.jsonl").write_text("nonsense\n")
    with pytest.raises(CheckpointError, match=r"damaged"):
        drain(watch(tmp_path), watch(tmp_path).enumerator(str(log)), {})


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"extent": 4', '"extent": 3', "checksum is wrong"),
        ("/a", "/b", "checksum is wrong"),
        ('"version": 1', '"version": 2', "has format 2, this version reads 1"),
        ("{", "", "is damaged"),
        (', "crc32"', ', "crc"', "is damaged"),
    ],
)
def test_an_entry_that_was_changed_is_an_error(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    source, log = watch(tmp_path), tmp_path / "_log"
    put(tmp_path, "a", "one")
    _, at = drain(source, source.enumerator(str(log)), {})
    file = log / "discovered.jsonl"
    file.write_text(file.read_text().replace(before, after, 1))
    with pytest.raises(CheckpointError, match=said) as caught:
        drain(source, source.enumerator(str(log)), at)
    assert caught.value.where["file"] == str(file) and caught.value.hint


def test_a_log_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """It is not an empty one: its files would be read again, under other numbers."""
    source, log = watch(tmp_path), tmp_path / "_log"
    put(tmp_path, "a", "one")
    _, at = drain(source, source.enumerator(str(log)), {})
    (log / "discovered.jsonl").unlink()
    put(tmp_path, "b", "two")
    with pytest.raises(CheckpointError, match="has 0 entries, but file 1"):
        drain(source, source.enumerator(str(log)), at)


def test_a_file_that_vanishes_before_it_is_read_is_named(tmp_path: Path) -> None:
    source, log = watch(tmp_path), str(tmp_path / "_log")
    put(tmp_path, "a", "one", "two")
    enumerator = source.enumerator(log)
    start = enumerator.initial(START_MS)
    end = enumerator.advance(start, Budget(1, 1), START_MS, frozenset()).positions
    os.remove(tmp_path / "a")
    with pytest.raises(JobError, match=r"/a' was listed"):
        source.enumerator(log).advance(end, NO_LIMIT, START_MS, frozenset())
    with pytest.raises(JobError, match="missing"):
        watch(tmp_path / "missing").enumerator(log).initial(START_MS)
