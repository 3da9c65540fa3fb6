"""The last micro-batch of a sink in a Delta table, from the table's log.

Delta stores the highest committed ``txnVersion`` of each ``txnAppId``. It is a ``txn`` action in a
commit of the log (``<version>.json``, one action per line), and later only in a checkpoint of the
log. Source: the protocol of Delta's transaction log.
"""

from __future__ import annotations

import json
import re

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.runners.spark.query.appended import HadoopFolder

_LOG = "_delta_log"
_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint\..*")


def last_transaction(spark: SparkSession, path: str, app_id: str) -> int:
    """Return the highest ``txnVersion`` of a ``txnAppId`` in the table at a path; -1 for none."""
    folder = HadoopFolder(spark, path)
    names, pointer = folder.children(_LOG), f"{_LOG}/_last_checkpoint"
    checkpoint = json.loads(folder.read(pointer))["version"] if folder.exists(pointer) else -1
    commits = [name for name in names if _version_of(_COMMIT, name) > checkpoint]
    of_log = [name for name in names if 0 <= _version_of(_CHECKPOINT, name) == checkpoint]
    versions = [-1]
    for name in (*commits, *(name for name in of_log if name.endswith(".json"))):
        for line in folder.read(f"{_LOG}/{name}").splitlines():
            action = json.loads(line).get("txn") if b'"txn"' in line else None
            if action and action["appId"] == app_id:
                versions.append(action["version"])
    files = [
        folder.path_of(f"{_LOG}/{name}").toString() for name in of_log if name.endswith(".parquet")
    ]
    if files:
        of_app = spark.read.parquet(*files).where(F.col("txn.appId") == app_id)
        versions += [row[0] for row in of_app.select("txn.version").collect()]
    return max(versions)


def _version_of(pattern: re.Pattern[str], name: str) -> int:
    """Return the version in a file name; -1 if the name does not match."""
    match = pattern.fullmatch(name)
    return int(match[1]) if match else -1


def location_of(spark: SparkSession, table: str) -> str | None:
    """Return the path of a table; None if there is no such table."""
    if not spark.catalog.tableExists(table):
        return None
    described = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").where("col_name = 'Location'")
    row = described.select("data_type").first()
    return None if row is None else str(row[0])
