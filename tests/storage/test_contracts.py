"""The contracts of file systems and of object stores, on a real HDFS and a real S3."""

from __future__ import annotations

import shutil
import uuid

import pytest

from headrace.common._storage.file_store import FileStore
from headrace.common._storage.file_system import FileSystem
from headrace.common._storage.locations import file_system_of
from headrace.common._storage.object_store import ObjectStore
from headrace.common._storage.remote import RemoteFiles
from tests.contract.file_system import FileSystemContract
from tests.contract.object_store import ObjectStoreContract
from tests.storage.servers import Storage

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("storage")]


def _remote(base: str) -> RemoteFiles:
    files = file_system_of(base)
    assert isinstance(files, RemoteFiles)
    return files


class Files(FileSystemContract):
    @pytest.fixture
    def files(self, base: str) -> FileSystem:
        return file_system_of(base)

    @pytest.fixture
    def base(self, storage: Storage) -> str:
        return f"{storage.base}/{uuid.uuid4().hex[:12]}"


@pytest.mark.parametrize("storage", ["hdfs"], indirect=True)
class TestHdfs(Files):
    pass


@pytest.mark.parametrize("storage", ["s3"], indirect=True)
class TestS3(Files):
    # SeaweedFS 4.48 looks whether a target exists, and completes the copy later: of several copies
    # at once all may win, unlike on Amazon S3. Sinks do not race: a file's name has their scope.
    rivals = 1


# `npm install -g azurite` brings it: 190 MB, which CI does without.
if shutil.which("azurite-blob"):

    @pytest.mark.parametrize("storage", ["azure"], indirect=True)
    class TestAzure(Files):
        pass


STORAGES = ["hdfs", "s3", *(["azure"] if shutil.which("azurite-blob") else [])]


@pytest.mark.parametrize("storage", STORAGES, indirect=True)
class TestStores(ObjectStoreContract):
    turns = 4

    @pytest.fixture
    def store(self, storage: Storage) -> ObjectStore:
        self._storage = storage
        return self.new()

    @pytest.fixture(autouse=True)
    def remember(self, storage: Storage) -> None:
        self._storage = storage

    def again(self, store: ObjectStore) -> ObjectStore:
        return FileStore(store.location(""), _remote(store.location("")))

    def new(self) -> ObjectStore:
        folder = f"{self._storage.base}/{uuid.uuid4().hex[:12]}"
        return FileStore(folder, _remote(folder))
