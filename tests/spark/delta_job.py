"""``python -m tests.spark.delta_job FOLDER JARS [DIES]``: INSERT INTO a table of Delta.

With DIES the driver is killed after the second micro-batch is in the table, before Spark notes it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from headrace.common import Configuration
from headrace.runners.spark import attempt
from headrace.runners.spark.startup.session import get_session
from headrace.table import EnvironmentSettings, TableEnvironment

ROWS = 500
PER_BATCH = 100


def die_after_second_write() -> None:
    """Kill this process when the second micro-batch has been written."""
    names: dict[str, Any] = vars(attempt)
    write = names["write_dataframes"]

    def written(frame: Any, program: Any, ref: Any, batch: int) -> None:
        write(frame, program, ref, batch)
        if batch == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    names["write_dataframes"] = written


def main(folder: Path, jars: Path) -> None:
    """Write the rows of a file into the table, and print what is in the table."""
    spark = get_session(
        {
            "spark.master": "local[2]",
            "spark.jars": ",".join(map(str, sorted(jars.glob("*.jar")))),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        },
        2,
    )
    spark.sql("CREATE DATABASE IF NOT EXISTS shop")
    spark.sql(
        "CREATE TABLE IF NOT EXISTS shop.made (id INT, k STRING) USING delta PARTITIONED BY (k)"
        f" LOCATION '{folder / 'made'}'"
    )
    configuration = Configuration.from_dict(
        {
            "parallelism.default": "2",
            "pipeline.name": "delta",
            "execution.checkpointing.dir": str(folder / "checkpoint"),
            "headrace.source.max-records-per-batch": str(PER_BATCH),
            "headrace.source.first-records-per-batch": str(PER_BATCH),
        }
    )
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(configuration).build())
    t_env.execute_sql("CREATE CATALOG s WITH ('type' = 'spark')")
    t_env.execute_sql(
        "CREATE TABLE given (id INT, k STRING) WITH ('connector' = 'filesystem',"
        f" 'path' = '{folder / 'given.csv'}', 'format' = 'csv')"
    )
    t_env.execute_sql("INSERT INTO s.shop.made SELECT id, k FROM given").wait()
    found = spark.sql("SELECT id FROM shop.made").collect()
    print("found:", *sorted(row.id for row in found))


if __name__ == "__main__":
    if "DIES" in sys.argv[3:]:
        die_after_second_write()
    main(Path(sys.argv[1]), Path(sys.argv[2]))
