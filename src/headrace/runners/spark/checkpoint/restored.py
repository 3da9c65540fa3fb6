"""State restored from a savepoint: records for Spark's state stores, in one Parquet file.

The file exists from the restore until the first micro-batch has taken over the state.
"""

from __future__ import annotations

from hashlib import sha256

from headrace.common._storage.sealed import ObjectFormat, get_json, missing_object, put_json
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.spark_files import damaged_error

_FORMAT = ObjectFormat("restored state")
_FILE = "restored/part-0.parquet"
_ABOUT = "restored/_about"  # Spark does not read a file whose name begins with "_"


def write(checkpoint_folder: CheckpointFolder, data: bytes) -> None:
    """Write the Parquet file, with records ``bucket, stage, name, data``."""
    checkpoint_folder.store.put(_FILE, data)
    put_json(checkpoint_folder.store, _ABOUT, _FORMAT, {"sha256": sha256(data).hexdigest()})


def check_restored(checkpoint_folder: CheckpointFolder) -> None:
    """Check that the file with the restored state has not changed since it was written.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    store = checkpoint_folder.store
    about, data = get_json(store, _ABOUT, _FORMAT), store.get(_FILE)
    if about is None:
        raise missing_object("what says that the restored state is whole", store.location(_ABOUT))
    if data is None:
        raise missing_object("the restored state", store.location(_FILE))
    if sha256(data).hexdigest() != about["sha256"]:
        raise damaged_error("the restored state is damaged", store.location(_FILE))
