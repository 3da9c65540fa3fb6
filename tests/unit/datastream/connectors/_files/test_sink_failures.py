"""The file sink, with a failure at every single step of its committer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from headrace.common._storage.local_files import LocalFiles
from headrace.common.serialization import Encoder
from headrace.connector import CommitterContext, WriterContext
from headrace.datastream.connectors._files.committer import FileCommitter
from headrace.datastream.connectors._files.rolling import DefaultRollingPolicy
from headrace.datastream.connectors._files.sink import STAGING
from headrace.datastream.connectors._files.writer import FileWriter
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.datastream.formats.csv import CsvEncoder
from headrace.errors import CheckpointError, JobError

pytestmark = pytest.mark.fault


class Crash(Exception):
    """The process ended here."""


@dataclass
class CrashingFiles(LocalFiles):
    """Crashes at the n-th change to the file system: before it, or right behind it."""

    durable: bool = False
    at: int = 0
    behind: bool = False
    calls: int = 0
    links: bool = False
    """Without the system's exclusive rename: a link, then the staged name is removed."""

    def _step(self, change: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.calls == self.at and not self.behind:
            raise Crash
        result = change()
        if self.calls == self.at:
            raise Crash
        return result

    def create(self, path: str) -> IO[bytes]:
        found: IO[bytes] = self._step(lambda: LocalFiles.create(self, path))
        return found

    def sync(self, file: IO[bytes]) -> None:
        self._step(lambda: LocalFiles.sync(self, file))

    def rename(self, source: str, target: str) -> None:
        self._step(lambda: LocalFiles.rename(self, source, target))

    def rename_exclusively(self, source: str, target: str) -> bool | None:
        if self.links:
            return None
        found: bool | None = self._step(lambda: LocalFiles.rename_exclusively(self, source, target))
        return found

    def link(self, source: str, target: str) -> bool | None:
        found: bool | None = self._step(lambda: LocalFiles.link(self, source, target))
        return found

    def sync_directory(self, path: str) -> None:
        self._step(lambda: LocalFiles.sync_directory(self, path))

    def remove(self, path: str) -> None:
        self._step(lambda: LocalFiles.remove(self, path))


FAST = LocalFiles(durable=False)
POLICIES = {
    "each": RollingPolicy.on_checkpoint_rolling_policy(),
    "rolled": RollingPolicy.default_rolling_policy(part_size=30),
}
ENCODERS: dict[str, Any] = {
    "text": Encoder.simple_string_encoder(),
    "csv": CsvEncoder(["n"], header=True),
}


def make_sink(folder: Path, policy: str, encoder: str) -> FileSink:
    builder = FileSink.for_row_format(str(folder), ENCODERS[encoder])
    return builder.with_rolling_policy(POLICIES[policy]).build()


def prepare(sink: FileSink, batch: int, attempt: str, tasks: int) -> list[Any]:
    """Ten records of a micro-batch, cut into so many tasks."""
    values = [(f"r{batch}.{index}",) for index in range(10)]
    prepared = []
    for task in range(tasks):
        writer = FileWriter(sink.staged("s"), WriterContext("s", "job", batch, task, attempt), FAST)
        run = [value if isinstance(sink.encoder, CsvEncoder) else value[0] for value in values]
        writer.write(run[task::tasks], [None] * len(run[task::tasks]))
        prepared.append(writer.prepare_commit())
    return prepared


def committer(sink: FileSink, files: LocalFiles) -> FileCommitter:
    made = sink.committer(CommitterContext("s", "job"))
    assert isinstance(made, FileCommitter)
    made.files = files
    return made


def published(folder: Path) -> Counter[str]:
    lines: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file() and STAGING not in path.parts:
            part = path.read_text().split()
            assert part, f"{path} is empty"
            lines.update(part[1:] if part[0] == "n" else part)
    return lines


@pytest.mark.parametrize("links", [False, True], ids=["rename", "link"])
@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_crash_at_any_step_neither_loses_nor_doubles(
    tmp_path: Path, policy: str, encoder: str, behind: bool, links: bool
) -> None:
    """Crash once, at step n, for every n; the micro-batch then comes again, cut otherwise."""
    expected = Counter(f"r{batch}.{index}" for batch in range(3) for index in range(10))
    crashes = 0
    for at in range(1, 200):
        folder = tmp_path / f"{at}"
        sink = make_sink(folder, policy, encoder)
        files = CrashingFiles(at=at, behind=behind, links=links)
        made = committer(sink, files)
        crashed = False
        for batch in range(3):
            try:
                made.commit(batch, prepare(sink, batch, "first", 2))
            except Crash:
                crashed = True
                assert published(folder) <= expected, "a record is visible twice"
                made = committer(sink, FAST)
                made.commit(batch, prepare(sink, batch, "second", 3))
        try:
            made.finish()
        except Crash:
            crashed = True
            made = committer(sink, FAST)
            made.finish()
        assert published(folder) == expected, f"crash {'behind' if behind else 'before'} step {at}"
        assert [path.name for path in (folder / STAGING / "s").iterdir()] == ["journal"]
        crashes += crashed
        if not crashed:
            break
    # Each micro-batch makes several changes; had none been failed the test would be void.
    assert crashes >= 15
    assert not crashed, "there are more steps than were tried"


@pytest.mark.parametrize("policy", POLICIES)
def test_crashes_in_a_row(tmp_path: Path, policy: str) -> None:
    """Recovery itself crashes, one step further each time."""
    sink = make_sink(tmp_path, policy, "text")
    expected = Counter(f"r0.{index}" for index in range(10))
    for at in range(1, 100):
        try:
            committer(sink, CrashingFiles(at=at, behind=True)).commit(
                0, prepare(sink, 0, f"attempt{at}", 1 + at % 3)
            )
            break
        except Crash:
            assert published(tmp_path) <= expected
    committer(sink, FAST).finish()
    assert at > 3
    assert published(tmp_path) == expected


def test_what_a_reader_moved_away_does_not_come_back(tmp_path: Path) -> None:
    """A consumer may take files; the repeated commit must not publish them again."""
    sink = make_sink(tmp_path, "each", "text")
    first = committer(sink, FAST)
    first.commit(0, prepare(sink, 0, "first", 2))
    for path in tmp_path.glob("part-*"):
        path.unlink()
    again = committer(sink, FAST)
    again.commit(0, prepare(sink, 0, "second", 2))
    again.finish()
    assert published(tmp_path) == Counter()


HOLDING = RollingPolicy.default_rolling_policy()
"""Nothing is complete before the end."""


@pytest.mark.parametrize(
    ("pattern", "how", "said"),
    [
        ("journal", "removed", "the journal of a file sink is missing"),
        ("journal", "cut", "is cut short"),
        ("journal", "flipped", "its checksum is wrong"),
        ("0-*", "removed", "a pending file of a file sink is missing"),
        ("1-*", "cut", "a pending file of a file sink has 45 bytes, not the 50"),
    ],
)
@pytest.mark.parametrize("call", ["commit", "finish"])
@pytest.mark.parametrize("batches", [2, 6])
def test_a_damaged_pending_file_is_an_error(
    batches: int, call: str, pattern: str, how: str, said: str, tmp_path: Path
) -> None:
    builder = FileSink.for_row_format(str(tmp_path), ENCODERS["text"])
    sink = builder.with_rolling_policy(HOLDING).build()
    for batch in range(batches):
        committer(sink, FAST).commit(batch, prepare(sink, batch, "first", 1))
    file = next((tmp_path / STAGING / "s").glob(pattern))
    data = file.read_bytes()
    if how == "removed":
        file.unlink()
    else:
        last = f'"batch": {batches - 1}'.encode()
        changed = data.replace(last, b'"batch": 0', 1)
        file.write_bytes(data[:-5] if how == "cut" else changed)
    with pytest.raises(CheckpointError, match=said) as caught:
        if call == "commit":
            committer(sink, FAST).commit(batches, prepare(sink, batches, "first", 1))
        else:
            committer(sink, FAST).finish()
    assert str(file) in caught.value.where.values() and caught.value.hint


class CountingFiles(LocalFiles):
    """Counts the questions about one file each."""

    def __init__(self) -> None:
        self.asked = 0

    def size(self, path: str) -> int | None:
        self.asked += 1
        return super().size(path)


def test_a_commit_does_not_ask_for_each_pending_file(tmp_path: Path) -> None:
    builder = FileSink.for_row_format(str(tmp_path), ENCODERS["text"])
    sink = builder.with_rolling_policy(HOLDING).build()
    counts = []
    for batch in range(12):
        files = CountingFiles()
        committer(sink, files).commit(batch, prepare(sink, batch, "first", 1))
        counts.append(files.asked)
    assert len([*(tmp_path / STAGING / "s").glob("1*-*")]) >= 2
    assert counts[-1] <= counts[0]


def damage(file: Path, how: str) -> None:
    if how == "removed":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-5])


@pytest.mark.parametrize(("how", "said"), [("removed", "is missing"), ("cut", "20 bytes, not")])
@pytest.mark.parametrize("policy", ["each", "rolled", "holding"])
def test_a_damaged_staged_file_is_an_error_at_its_first_commit(
    policy: str, how: str, said: str, tmp_path: Path
) -> None:
    builder = FileSink.for_row_format(str(tmp_path), ENCODERS["text"])
    sink = builder.with_rolling_policy({**POLICIES, "holding": HOLDING}[policy]).build()
    committer(sink, FAST).commit(0, prepare(sink, 0, "first", 2))
    before = published(tmp_path)
    prepared = prepare(sink, 1, "first", 2)
    file = tmp_path / STAGING / "s" / prepared[1][0].file
    damage(file, how)
    made = committer(sink, FAST)
    with pytest.raises(JobError, match=said) as caught:
        made.commit(1, prepared)
    assert str(file) in caught.value.where.values() and caught.value.hint
    assert published(tmp_path) == before, "a part of the micro-batch is visible"
    made = committer(sink, FAST)
    made.commit(1, prepare(sink, 1, "second", 3))
    made.finish()
    assert published(tmp_path) == Counter(f"r{b}.{i}" for b in range(2) for i in range(10))


@pytest.mark.parametrize("how", ["removed", "cut"])
@pytest.mark.parametrize("call", ["commit", "finish", "snapshot"])
def test_pending_files_are_checked_again_before_they_are_used(
    call: str, how: str, tmp_path: Path
) -> None:
    """The committer found it whole once; that was before it was damaged."""
    builder = FileSink.for_row_format(str(tmp_path), ENCODERS["text"])
    rolling = DefaultRollingPolicy(1 << 20, batches=2)
    sink = builder.with_rolling_policy(rolling).build()
    made = committer(sink, FAST)
    made.commit(0, prepare(sink, 0, "first", 1))
    file = next((tmp_path / STAGING / "s").glob("0-*"))
    damage(file, how)
    with pytest.raises(CheckpointError, match="a pending file of a file sink") as caught:
        if call == "commit":
            made.commit(1, prepare(sink, 1, "first", 1))
        elif call == "finish":
            made.finish()
        else:
            list(made.snapshot())
    assert str(file) in caught.value.where.values()
    assert published(tmp_path) == Counter()


@dataclass
class RacingFiles(LocalFiles):
    """Before a file is published another program publishes one under the same name."""

    durable: bool = False
    links: bool = False
    crash: bool = False
    raced: int = 0

    def publish(self, source: str, target: str) -> bool:
        if not self.raced:
            self.raced += 1
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(target).write_text("theirs\n")
            if self.crash:
                raise Crash
        return LocalFiles.publish(self, source, target)

    def rename_exclusively(self, source: str, target: str) -> bool | None:
        return None if self.links else LocalFiles.rename_exclusively(self, source, target)


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_file_that_another_program_published_meanwhile_stays(
    tmp_path: Path, policy: str, links: bool, crash: bool
) -> None:
    sink = make_sink(tmp_path, policy, "text")
    made = committer(sink, RacingFiles(links=links, crash=crash))
    prepared = prepare(sink, 0, "first", 2)
    if crash:
        with pytest.raises(Crash):
            made.commit(0, prepared)
        made = committer(sink, FAST)
    made.commit(0, prepared)
    made.finish()
    expected = Counter(["theirs", *(f"r0.{index}" for index in range(10))])
    assert published(tmp_path) == expected
    again = committer(sink, FAST)
    again.commit(0, prepare(sink, 0, "second", 3))
    again.finish()
    assert published(tmp_path) == expected


def test_without_links_and_exclusive_renames_a_taken_name_is_left(tmp_path: Path) -> None:
    class Plain(LocalFiles):
        def rename_exclusively(self, source: str, target: str) -> bool | None:
            return None

        def link(self, source: str, target: str) -> bool | None:
            return None

    files, source, target = Plain(durable=False), tmp_path / "a", tmp_path / "b"
    source.write_text("ours")
    target.write_text("theirs")
    assert not files.publish(str(source), str(target))
    assert (source.read_text(), target.read_text()) == ("ours", "theirs")
    assert files.publish(str(source), str(tmp_path / "c"))
    assert (tmp_path / "c").read_text() == "ours"


def test_a_link_that_was_made_before_a_crash_counts(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("ours")
    target.hardlink_to(source)
    assert CrashingFiles(links=True).publish(str(source), str(target))
    assert (source.exists(), target.read_text()) == (False, "ours")
