"""What every file system keeps to; each implementation inherits the suite."""

from __future__ import annotations

import gzip
import threading
from abc import ABC, abstractmethod

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common._storage.file_system import FileSystem

ROWS = 20_000


class FileSystemContract(ABC):
    """``base``: the path of a folder that does not exist yet. ``rivals`` publish at once."""

    rivals = 6

    @pytest.fixture
    @abstractmethod
    def files(self) -> FileSystem: ...

    @pytest.fixture
    @abstractmethod
    def base(self) -> str: ...

    def write(self, files: FileSystem, path: str, data: bytes) -> str:
        """Write a file as a task does."""
        with files.create(path) as file:
            file.write(data)
            files.sync(file)
        return path

    def test_a_written_file_is_read(self, files: FileSystem, base: str) -> None:
        data = bytes(range(256)) * 2_000
        with files.create(f"{base}/a/b c%20'+.bin") as file:
            file.write(data[:100_000])
            file.write(data[100_000:])
            files.sync(file)
            assert file.tell() == len(data)
        path = f"{base}/a/b c%20'+.bin"
        assert files.read(path) == data and files.size(path) == len(data)
        with files.open(path) as file:
            assert file.read(10) == data[:10]
            file.seek(-300, 2)
            assert file.read() == data[-300:]
            file.seek(77_777)
            assert file.read(200_000) == data[77_777:277_777]
            assert file.tell() == 277_777

    def test_what_is_not_there(self, files: FileSystem, base: str) -> None:
        assert files.read(f"{base}/no") is None and files.size(f"{base}/no") is None
        assert not files.exists(f"{base}/no") and not files.is_folder(f"{base}/no")
        assert files.names(f"{base}/no") == [] and [*files.walk(f"{base}/no")] == []
        assert [*files.stat(f"{base}/no")] == [] and files.all_files(f"{base}/no") == []
        assert files.read_log(f"{base}/no") == b"" and files.matches(f"{base}/no/*") == []
        files.remove(f"{base}/no")
        files.remove_folder(f"{base}/no")
        with pytest.raises(FileNotFoundError):
            files.open(f"{base}/no").read()

    def test_a_file_is_replaced_whole(self, files: FileSystem, base: str) -> None:
        self.write(files, f"{base}/j", b"long content")
        files.replace(f"{base}/j", b"short")
        assert files.read(f"{base}/j") == b"short"
        files.replace(f"{base}/new", b"n")
        assert files.read(f"{base}/new") == b"n"

    def test_published_once(self, files: FileSystem, base: str) -> None:
        first = self.write(files, f"{base}/aside/1", b"first")
        second = self.write(files, f"{base}/aside/2", b"second")
        assert files.publish(first, f"{base}/out/day 1/x")
        files.sync_directory(f"{base}/out/day 1")
        assert not files.publish(second, f"{base}/out/day 1/x")
        assert files.read(f"{base}/out/day 1/x") == b"first"
        assert files.names(f"{base}/aside") == ["2"]
        assert files.is_folder(f"{base}/out") and files.exists(f"{base}/out/day 1")

    def test_one_of_many_publishes(self, files: FileSystem, base: str) -> None:
        names = [str(number) for number in range(self.rivals)]
        staged = [self.write(files, f"{base}/aside/{name}", name.encode()) for name in names]
        together, won = threading.Barrier(self.rivals), []

        def publish(path: str) -> None:
            together.wait()
            if files.publish(path, f"{base}/out/x"):
                won.append(path)

        threads = [threading.Thread(target=publish, args=(path,)) for path in staged]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert files.read(f"{base}/out/x") == won[0].rpartition("/")[2].encode()
        assert len(files.names(f"{base}/aside")) == self.rivals - 1

    def test_a_log_grows(self, files: FileSystem, base: str) -> None:
        lines = [f"{number} ".encode() * 20_000 + b"\n" for number in range(40)]
        for line in lines:
            files.append(f"{base}/log.jsonl", line)
        assert files.read_log(f"{base}/log.jsonl") == b"".join(lines)

    def test_hidden_files_are_not_listed(self, files: FileSystem, base: str) -> None:
        names = ("x.csv", "d1/y.csv", "d1/.z.csv", "_h/a.csv", "d1/d2/_b", "d1/d2/c.txt")
        for name in names:
            self.write(files, f"{base}/{name}", name.encode())
        listed = [file.path.removeprefix(f"{base}/") for file in files.walk(base)]
        assert sorted(listed) == ["d1/d2/c.txt", "d1/y.csv", "x.csv"]
        sizes = {file.path: file.size_bytes for file in files.walk(base)}
        assert sizes[f"{base}/d1/y.csv"] == len("d1/y.csv")
        found = [file.path for file in files.all_files(base)]
        assert found == sorted(f"{base}/{name}" for name in names)
        assert files.names(base) == ["_h", "d1", "x.csv"]
        (one,) = files.stat(f"{base}/x.csv")
        assert one.path == f"{base}/x.csv" and one.mtime_ms > 1_600_000_000_000

    def test_patterns(self, files: FileSystem, base: str) -> None:
        for name in ("x.csv", "d1/y.csv", "d1/.z.csv", "d2/e/a.csv", "d2/c.txt"):
            self.write(files, f"{base}/{name}", b"1")

        def found(pattern: str) -> list[str]:
            return [path.removeprefix(f"{base}/") for path in files.matches(f"{base}/{pattern}")]

        assert found("*.csv") == ["x.csv"]
        assert found("d?/*.csv") == ["d1/y.csv"]
        assert found("**/*.csv") == ["d1/y.csv", "d2/e/a.csv", "x.csv"]
        assert found("d[2]") == ["d2"] and found("none*") == []

    def test_a_folder_is_removed(self, files: FileSystem, base: str) -> None:
        self.write(files, f"{base}/d/a", b"1")
        self.write(files, f"{base}/d/e/b", b"1")
        self.write(files, f"{base}/dd", b"1")
        files.remove_folder(f"{base}/d")
        assert files.all_files(f"{base}/d") == [] and files.size(f"{base}/dd") == 1
        files.remove(f"{base}/dd")
        assert files.size(f"{base}/dd") is None

    def test_libraries_read_and_write_its_files(self, files: FileSystem, base: str) -> None:
        table = pa.table({"n": range(ROWS), "t": [f"text {n}" for n in range(ROWS)]})
        with files.create(f"{base}/t.parquet") as out:
            pq.write_table(table, out, row_group_size=3_000)
            files.sync(out)
        with files.open(f"{base}/t.parquet") as file:
            assert pq.ParquetFile(file).read_row_group(2)["n"].to_pylist() == [*range(6000, 9000)]
        with files.create(f"{base}/t.gz") as out, gzip.open(out, "wb") as packed:
            packed.write(b"line\n" * ROWS)
            packed.close()
            files.sync(out)
        with files.open(f"{base}/t.gz") as file, gzip.open(file) as unpacked:
            assert unpacked.read() == b"line\n" * ROWS
