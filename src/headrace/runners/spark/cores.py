"""The number of cores that a session gives a job, which is the job's default parallelism."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.runners.spark.modules import is_local

_UNLIMITED = 2**31 - 1
_ONE_CORE_MASTERS = ("yarn", "k8s")
"""Masters with two executors of one core each, unless the settings say otherwise."""

_FIRST_SECONDS = 30.0
_STABLE_SECONDS = 1.0
_POLL_SECONDS = 0.1

_cores: dict[str, int] = {}
"""The number of cores, by application id."""


def cores_of_local(master: str | None) -> int:
    """Return the cores of a local master, without a session. None: Headrace's default master."""
    found = re.match(r"local(?:\[(\d+|\*))?", master or "local[*]")
    number = None if found is None else found[1]
    if number is None:
        return 1
    return os.cpu_count() or 1 if number == "*" else int(number)


def cores_of(spark: SparkSession) -> int:
    """Return the number of tasks that a session can run at the same time.

    On a cluster this waits until executors have registered, unless the settings fix their number.
    """
    name = spark.sparkContext.applicationId or ""
    if name not in _cores:
        _cores[name] = _find_cores(spark.sparkContext)
    return _cores[name]


def known_cores(spark: SparkSession) -> int | None:
    """Return what ``cores_of`` returns, without waiting; None if it is not known yet."""
    context = spark.sparkContext
    if is_local(context.master or ""):
        return context.defaultParallelism
    return _cores.get(context.applicationId or "") or configured_cores(_settings(context))


def _find_cores(context: SparkContext) -> int:
    settings = _settings(context)
    if not is_local(context.master or "") and "spark.default.parallelism" not in settings:
        configured = configured_cores(settings)
        if configured is not None:
            return configured
        if is_dynamic(settings):
            print(
                "headrace: dynamic allocation has no upper limit, so the job's parallelism is"
                f" {context.defaultParallelism}, the current number of cores (set"
                " parallelism.default, or"
                " spark.dynamicAllocation.maxExecutors and spark.executor.cores)",
                file=sys.stderr,
            )
        else:
            _wait_for_executors(context)
            # Spark reports at least two cores, even if there is one.
            return min(context.defaultParallelism, _most_cores(settings))
    return context.defaultParallelism


def _settings(context: SparkContext) -> dict[str, str]:
    return dict(context.getConf().getAll())


def is_dynamic(settings: Mapping[str, str]) -> bool:
    """Return whether Spark adds and removes executors while a job runs."""
    return settings.get("spark.dynamicAllocation.enabled", "").lower() == "true"


def configured_cores(settings: Mapping[str, str]) -> int | None:
    """Return the number of tasks that the largest allowed set of executors runs at once.

    None if the settings leave the number to the cluster.
    """
    one_core = settings.get("spark.master", "").startswith(_ONE_CORE_MASTERS)
    key = "dynamicAllocation.maxExecutors" if is_dynamic(settings) else "executor.instances"
    fallback = 2 if one_core and not is_dynamic(settings) else 0
    executors = int(settings.get(f"spark.{key}", fallback))
    cores = int(settings.get("spark.executor.cores", 1 if one_core else 0))
    if executors in (0, _UNLIMITED) or cores == 0:
        return None
    return max(
        1, min(executors * cores, _most_cores(settings)) // int(settings.get("spark.task.cpus", 1))
    )


def _most_cores(settings: Mapping[str, str]) -> int:
    return int(settings.get("spark.cores.max", _UNLIMITED))


def _wait_for_executors(context: SparkContext) -> None:
    """Wait until the number of executors is stable; give up if none registers."""
    java: Any = context._jsc
    end = time.monotonic() + _FIRST_SECONDS
    number, since = 0, time.monotonic()
    while time.monotonic() < end:
        found = java.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of them
        if found != number:
            number, since = found, time.monotonic()
        elif number and time.monotonic() - since >= _STABLE_SECONDS:
            return
        time.sleep(_POLL_SECONDS)
    if not number:
        print(
            f"headrace: no executor has registered within {_FIRST_SECONDS:.0f} s: the cluster may"
            " have no free cores or too little memory (spark.executor.memory)",
            file=sys.stderr,
        )
