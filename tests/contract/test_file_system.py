"""The contract of file systems, for the local one; that of others needs servers (tests/storage)."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common._storage.file_system import FileSystem
from headrace.common._storage.local_files import LocalFiles
from tests.contract.file_system import FileSystemContract


class TestLocalFiles(FileSystemContract):
    @pytest.fixture
    def files(self) -> FileSystem:
        return LocalFiles()

    @pytest.fixture
    def base(self, tmp_path: Path) -> str:
        return str(tmp_path / "base")
