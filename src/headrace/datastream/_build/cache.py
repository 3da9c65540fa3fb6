"""The folders with the records of a cached stream, which exist while the program runs."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid

from headrace.common._options import catalogue as options
from headrace.common._storage.local_files import local_path
from headrace.common.configuration import Configuration
from headrace.connector import Sink, Source
from headrace.datastream.connectors._cached import CacheSink, CacheSource


class CacheFolders:
    """One folder per job that computes the stream; the first complete one is read."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._folders: list[str] = []
        atexit.register(self.forget)

    def find_source(self) -> Source | None:
        """Return a source of the first complete folder; None if no job has cached the stream."""
        sources = map(CacheSource, self._folders)
        return next((source for source in sources if source.is_complete), None)

    def create_sink(self) -> Sink:
        """Return a sink with a new folder, so that two runs of the job never share a folder."""
        given = options.read(self._configuration, options.CACHE_DIR)
        if given is None:
            folder = tempfile.mkdtemp(prefix="headrace-cache-")
        else:
            folder = os.path.join(os.path.abspath(local_path(given)), uuid.uuid4().hex)
        self._folders.append(folder)
        return CacheSink(folder)

    def forget(self) -> None:
        """Remove all folders; the next job computes the stream again."""
        while self._folders:
            shutil.rmtree(self._folders.pop(), ignore_errors=True)
