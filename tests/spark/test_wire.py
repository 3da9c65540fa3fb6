"""Where Spark puts a packet."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from headrace.runners.spark.query.wire import bucket_keys
from headrace.runners.spark.startup.session import get_session

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("partitions", [2, 7])
def test_every_bucket_lies_in_a_partition_of_its_own(partitions: int) -> None:
    spark = get_session({}, None)
    keys = [(key,) for key in bucket_keys(partitions)]
    rows = spark.createDataFrame(keys, "bucket int").repartition(partitions, "bucket")
    found = rows.select("bucket", F.spark_partition_id().alias("partition")).collect()
    assert {row.bucket: row.partition for row in found} == {
        key: partition for partition, key in enumerate(bucket_keys(partitions))
    }
