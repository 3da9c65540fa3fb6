"""Files of a checkpoint removed, cut short and flipped: the job names the file, or needs it not.

A job breaks off in the middle of a micro-batch, so that the next start reads what Spark has
planned, what it has committed, and the state. What is refused before Spark starts is in
tests/goldens/test_damage.py.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from headrace.common import Configuration, Encoder
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.errors import CheckpointError
from tests.damage import ALL, BOTH, NOT_NEEDED, REFUSED, Kind, cases, damage, names_of

pytestmark = pytest.mark.spark

RECORDS, KEYS, PER_BATCH, FAILS_AT = 160, 5, 40, 130


def run(folder: Path) -> None:
    """Running sums by key into files; in the fourth micro-batch it fails, if ``fails`` is there."""
    fails = folder / "fails"

    def pair(number: int) -> tuple[int, int]:
        if number >= FAILS_AT and os.path.exists(fails):
            raise OSError("not now")
        return number % KEYS, number

    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": str(PER_BATCH),
                "execution.checkpointing.dir": str(folder / "checkpoint"),
            }
        )
    )
    pairs = env.from_sequence(0, RECORDS - 1).uid("numbers").map(pair)
    sums = pairs.key_by(lambda pair: pair[0]).sum(1).uid("sums")
    files = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    sums.sink_to(files).uid("files")
    env.execute("sums")


def written(folder: Path) -> Counter[str]:
    files = [path for path in (folder / "out").rglob("part-*") if path.is_file()]
    return Counter(line for path in files for line in path.read_text().splitlines())


SUMS = Counter(str((n % KEYS, sum(range(n % KEYS, n + 1, KEYS)))) for n in range(RECORDS))


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the job has left in its folder, which is kept under another name.

    A sink that finds the place where it wrote before is refused another one.
    """
    folder = tmp_path_factory.mktemp("whole")
    (folder / "fails").touch()
    with pytest.raises(OSError, match="not now"):
        run(folder)
    (folder / "fails").unlink()
    return folder.rename(folder.with_name("kept"))


KINDS: list[Kind] = [
    ("splits/[0-9]*", -1, ALL),
    ("spark/offsets/[0-9]*", -3, {"removed": NOT_NEEDED}),
    ("spark/offsets/.*.crc", -1, {"removed": NOT_NEEDED}),
    ("spark/commits/[0-9]*", -2, {"flipped": NOT_NEEDED}),
    ("spark/state/0/_stateSchema/default/[0-9]*", -1, BOTH),
    ("spark/state/0/0/[0-9]*.changelog", -1, BOTH),
    ("spark/state/0/0/[0-9]*.changelog", -2, ALL),
    ("spark/state/0/0/[0-9]*.changelog.crc", -1, {"removed": NOT_NEEDED, **BOTH}),
    ("spark/state/0/0/.[0-9]*.changelog.crc", -1, {"removed": NOT_NEEDED, "flipped": REFUSED}),
    ("spark/state/0/0/[0-9]*.zip", -1, ALL),
    ("spark/state/0/0/[0-9]*.zip.crc", -1, BOTH),
    ("spark/state/0/0/SSTs/[0-9]*.sst", -1, ALL),
    ("spark/state/0/0/SSTs/.*.crc", -1, {"flipped": REFUSED}),
]


@pytest.mark.parametrize(("pattern", "which", "how", "refused"), cases(KINDS))
def test_damage_is_refused_with_the_file(
    pattern: str, which: int, how: str, refused: bool, broken_off: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    shutil.copytree(broken_off, folder)
    checkpoint = folder / "checkpoint" / "sums"
    file = sorted(checkpoint.glob(pattern))[which]
    damage(file, how)
    if not refused:
        run(folder)
        assert written(folder) == SUMS
        return
    with pytest.raises(CheckpointError) as caught:
        run(folder)
    where = caught.value.where
    assert where.get("file", where.get("object")) in names_of(file), where
    assert "start anew" in str(caught.value.hint) or "delete this" in str(caught.value.hint)
    assert written(folder) <= SUMS


def test_a_checkpoint_that_was_moved_goes_on(
    broken_off: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spark writes full paths down; with each test above the folder was moved, too."""
    folder = tmp_path / "moved here"
    shutil.copytree(broken_off, folder)
    run(folder)
    assert written(folder) == SUMS
    assert "was moved to" in capfd.readouterr().err
    before = str(broken_off).encode()
    here = [path for path in (folder / "checkpoint").rglob("*") if path.is_file()]
    assert not [path for path in here if before in path.read_bytes()]


@pytest.mark.parametrize("how", ["removed", "cut"])
def test_a_damaged_pending_file_of_a_sink_is_reported(
    how: str, broken_off: Path, tmp_path: Path
) -> None:
    """The commit fails with it, and so does the end of the micro-batch that is then discarded."""
    folder = tmp_path / "job"
    shutil.copytree(broken_off, folder)
    staged = [path for path in (folder / "out").rglob("*") if path.is_file()]
    file = next(path for path in sorted(staged) if path.parent.parent.name == ".headrace-staging")
    damage(file, how)
    with pytest.raises(CheckpointError, match="a pending file of a file sink") as caught:
        run(folder)
    assert caught.value.where["file"] == str(file)
    assert written(folder) <= SUMS
