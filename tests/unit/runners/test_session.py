"""Where a job runs: what submits a program decides."""

from __future__ import annotations

import pytest

from headrace.runners.spark.modules import is_local
from headrace.runners.spark.startup.session import place_of, submitted_settings, was_submitted


def test_who_submits_is_seen_by_the_gateway() -> None:
    assert was_submitted({"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "s"})
    assert not was_submitted({"PYSPARK_PYTHON": "python3"})


def test_what_was_submitted_stays() -> None:
    submitted = {
        "spark.master": "spark://there:7077",
        "spark.app.name": "theirs",
        "spark.sql.session.timeZone": "Europe/Paris",
    }
    added = submitted_settings(submitted, {"spark.executor.memory": "3g"})
    assert not submitted.keys() & added.keys()
    assert added["spark.executor.memory"] == "3g"
    assert added["spark.sql.streaming.pollingDelay"] == "10ms"
    # what is for this machine, or for a JVM that starts, would break a cluster
    here = ("spark.driver", "spark.ui", "spark.python.daemon")
    assert not [key for key in added if key.startswith(here)]


def test_workers_of_this_machine_are_forked_with_everything_imported() -> None:
    assert "spark.python.daemon.module" in submitted_settings({"spark.master": "local[2]"}, {})


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[*]", True), ("local[2,4]", True), ("local-cluster[2,1,512]", False),
     ("spark://there:7077", False), ("yarn", False)],
)  # fmt: skip
def test_local_masters(master: str, local: bool) -> None:
    assert is_local(master) is local


def test_the_line_that_says_where() -> None:
    assert place_of("local[2,4]", "4.3.0", None) == "headrace: runs on local[2,4], Spark 4.3.0"
    assert place_of("yarn", "4.3.0", "http://here:4040").endswith(", http://here:4040")
