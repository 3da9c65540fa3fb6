"""``python -m tests.storage.states_job BASE SAVED [KEY=VALUE ...]``: state as tables on a storage.

It reads the checkpoint and the restore point of ``savepoints_job``, and its savepoint BASE/saved/
SAVED. It writes the savepoint's state, from tables, to BASE/changed.
"""

from __future__ import annotations

import json
import os
import sys

from headrace.common._options import catalogue as options
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.retained import restore_points
from headrace.state import Savepoint, SavepointWriter
from tests.storage.savepoints_job import NAME


def main() -> None:
    base, saved = sys.argv[1:3]
    settings = dict(setting.split("=", 1) for setting in sys.argv[3:])
    os.environ[options.SETTINGS_VARIABLE] = json.dumps(settings)
    savepoint = Savepoint.load(f"{base}/saved/{saved}")
    folder = CheckpointFolder.of_job(f"{base}/checkpoint", NAME)
    (point,) = restore_points(folder)
    checkpoint = Savepoint.load(folder.directory)
    assert [*checkpoint.differences(Savepoint.load(point.folder))] == []
    assert checkpoint.states() == savepoint.states()
    writer = SavepointWriter.from_existing_savepoint(f"{base}/saved/{saved}")
    for state in savepoint.states():
        table = savepoint.read("sums", state.name, as_pickle=True)
        assert table.count() > 0
        writer.with_state("sums", state.name, table, as_pickle=True)
    assert [*writer.write(f"{base}/changed").differences(savepoint)] == []


if __name__ == "__main__":
    main()
