"""Which failures of Spark are damage to the checkpoint, and which file the error names."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from zlib import crc32

import pytest

from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint.damage import Cause, damage_in
from headrace.runners.spark.checkpoint.spark_files import (
    check_folder,
    check_sources,
    first_broken,
)

STREAM = "org.apache.spark.sql.streaming.StreamingQueryException"
SPARK = "org.apache.spark.SparkException"
LOADING = Cause(SPARK, "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred.")


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    folder = tmp_path / "spark"
    (folder / "state" / "0" / "0").mkdir(parents=True)
    return folder


def damage_error(spark: Path, *causes: Cause) -> CheckpointError | None:
    whole = Cause(STREAM, "[STREAM_FAILED] Query [id = a] terminated with exception: it failed")
    return damage_in([whole, *causes], str(spark.parent), str(spark))


def checksum(data: bytes, size: int = 512) -> bytes:
    """What Hadoop writes next to a file."""
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    sums = b"".join(crc32(piece).to_bytes(4, "big") for piece in pieces)
    return b"crc\0" + size.to_bytes(4, "big") + sums


def write(file: Path, data: bytes) -> Path:
    file.write_bytes(data)
    file.with_name(f".{file.name}.crc").write_bytes(checksum(data))
    return file


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("org.apache.hadoop.fs.ChecksumException", "Checksum error: file:{} at 0 exp: 1 got: 2"),
        ("java.io.FileNotFoundException", "File file:{} does not exist"),
        ("java.io.FileNotFoundException", "{} (No such file or directory)"),
        ("java.lang.IllegalStateException", "file:{} doesn't exist (latestId: 1, interval: 10)"),
        (SPARK, "[CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE] Copied file:{} to /tmp/x"),
        (SPARK, "[CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED] Verification failed. File: {}\nx"),
    ],
)
def test_a_cause_that_names_a_file_is_reported_with_it(
    kind: str, message: str, spark: Path
) -> None:
    file = spark / "state" / "0" / "0" / "3_id.changelog"
    error = damage_error(spark, LOADING, Cause(kind, message.format(file)))
    assert error is not None and error.where["file"] == str(file)
    assert "a copy of the checkpoint" in str(error.hint)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("java.io.FileNotFoundException", "File file:/data/input.parquet does not exist"),
        ("java.io.FileNotFoundException", "{}/offsets/3 (Permission denied)"),
        ("java.io.FileNotFoundException", "{}/offsets/3 (Too many open files)"),
        ("java.io.IOException", "No space left on device: {}/offsets/3"),
        ("org.rocksdb.RocksDBException", "While open a file: {}/1.sst: No space left on device"),
        ("java.lang.OutOfMemoryError", "Java heap space"),
        ("java.lang.IllegalStateException", "{}/offsets/3 is what a user's own sink says"),
    ],
)
def test_other_failures_are_no_damage(kind: str, message: str, spark: Path) -> None:
    assert damage_error(spark, LOADING, Cause(kind, message.format(spark))) is None


def test_an_exception_of_the_users_is_never_damage(spark: Path) -> None:
    file = spark / "offsets" / "0"
    text = f"FileNotFoundError: File file:{file} does not exist [CANNOT_LOAD_STATE_STORE.X] it"
    python = Cause("org.apache.spark.api.python.PythonException", text)
    assert damage_error(spark, Cause(SPARK, f"Job aborted: {text}"), python) is None
    assert damage_error(spark, Cause("java.lang.RuntimeException", text)) is None
    assert damage_in([], str(spark.parent), str(spark)) is None


def test_where_spark_names_no_file_the_broken_one_is_looked_for(spark: Path) -> None:
    nothing = Cause("java.lang.NullPointerException", "")
    state = spark / "state" / "0" / "0"
    error = damage_error(spark, LOADING, nothing)
    assert error is not None and error.where["file"] == f"{spark}/state"
    write(state / "3_id.changelog", b"what changed")
    lost = write(state / "1_id.zip", b"a snapshot")
    lost.unlink()
    error = damage_error(spark, LOADING, nothing)
    assert error is not None and error.where == {"file": str(lost), "problem": "it is missing"}
    assert damage_error(spark, nothing) is None  # and nothing says that it was about state


def test_a_broken_file_is_found(spark: Path) -> None:
    state = spark / "state" / "0" / "0"
    write(state / "3_id.changelog", b"what changed" * 100)
    with zipfile.ZipFile(state / "1_id.zip", "w") as snapshot:
        snapshot.writestr("MANIFEST", b"x" * 100)
    size = (state / "1_id.zip").stat().st_size
    (state / "1_id.zip.crc").write_text(json.dumps({"mainFileSize": size}))
    assert first_broken(str(spark)) is None
    whole = (state / "1_id.zip").read_bytes()  # its header has the time of day in it
    for file, data, said in (
        (state / "3_id.changelog", b"what changed" * 99 + b"what-changed", "checksum is wrong"),
        (state / "3_id.changelog", b"what changed" * 99, "checksum is wrong"),
        (state / "1_id.zip", (state / "1_id.zip").read_bytes()[:-30], "no whole archive"),
        (state / "1_id.zip", whole.replace(b"x" * 9, b"x" * 8 + b"y", 1), "damaged"),
        (state / "1_id.zip.crc", b'{"mainFileSize": 1}', "bytes, not 1"),
        (state / "1_id.zip.crc", b'{"mainFi', "no checksum"),
    ):
        before = file.read_bytes()
        file.write_bytes(data)
        found = first_broken(str(spark))
        assert found is not None and found[0] == str(file) and said in found[1]
        file.write_bytes(before)


def test_the_list_of_files_of_a_source_of_sparks_must_be_there(spark: Path) -> None:
    offsets = ['{"epoch": 1}', '{"logOffset":1}', "5", '{"logOffset": 9}']
    for name in ("1/1", "3/9.compact"):
        (spark / "sources" / name).parent.mkdir(parents=True)
        (spark / "sources" / name).write_text("v1")
    check_sources(str(spark), offsets)
    (spark / "sources" / "1" / "1").unlink()
    with pytest.raises(CheckpointError, match="list of files") as caught:
        check_sources(str(spark), offsets)
    assert caught.value.where["file"] == str(spark / "sources" / "1" / "1")


@pytest.mark.parametrize("how", ["removed", "cut", "flipped", "no end"])
def test_the_files_of_a_dataframe_are_whole(how: str, tmp_path: Path) -> None:
    end, file = write(tmp_path / "_SUCCESS", b""), write(tmp_path / "part-0.parquet", b"rows" * 99)
    check_folder(str(tmp_path), "_SUCCESS", "the DataFrame 'trades'")
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-7])
    elif how == "flipped":
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    else:
        (end if how == "no end" else file).unlink()
    with pytest.raises(CheckpointError, match="the DataFrame 'trades' in the checkpoint") as caught:
        check_folder(str(tmp_path), "_SUCCESS", "the DataFrame 'trades'")
    assert caught.value.where["file"] == str(end if how == "no end" else file)
