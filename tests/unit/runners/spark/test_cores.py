"""How many tasks a session runs at once, as its settings say."""

from __future__ import annotations

import os

import pytest

from headrace.runners.spark.cores import configured_cores, cores_of_local

YARN = {"spark.master": "yarn"}
DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize(
    ("settings", "cores"),
    [
        ({"spark.master": "spark://there:7077"}, None),
        ({"spark.executor.instances": "3"}, None),
        ({"spark.executor.instances": "3", "spark.executor.cores": "4"}, 12),
        ({"spark.executor.instances": "3", "spark.executor.cores": "4", "spark.cores.max": "8"}, 8),
        ({"spark.executor.instances": "3", "spark.executor.cores": "4", "spark.task.cpus": "2"}, 6),
        ({"spark.executor.cores": "1", "spark.executor.instances": "1", "spark.task.cpus": "2"}, 1),
        (YARN, 2),
        ({**YARN, "spark.executor.cores": "5"}, 10),
        ({**YARN, **DYNAMIC}, None),
        ({**YARN, **DYNAMIC, "spark.dynamicAllocation.maxExecutors": "20"}, 20),
        ({**DYNAMIC, "spark.dynamicAllocation.maxExecutors": "20"}, None),
        ({**YARN, **DYNAMIC, "spark.dynamicAllocation.maxExecutors": str(2**31 - 1)}, None),
        (
            {
                **DYNAMIC,
                "spark.dynamicAllocation.maxExecutors": "20",
                "spark.executor.cores": "4",
                "spark.executor.instances": "2",
            },
            80,
        ),
    ],
)
def test_the_largest_set_of_executors_counts(settings: dict[str, str], cores: int | None) -> None:
    assert configured_cores(settings) == cores


def test_local_masters() -> None:
    assert [cores_of_local(m) for m in ("local", "local[3]", "local[5,4]")] == [1, 3, 5]
    assert cores_of_local(None) == cores_of_local("local[*]") == cores_of_local("local[*,2]")
    assert cores_of_local(None) == os.cpu_count()
