"""What all tests share: the rule for skips, Hypothesis without deadlines, a heap that is frozen.

Temporary files are kept in memory where there is room for them.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests import drawn
from tests.effort import examples
from tests.long_tests import long_tests

# The suites' assertions explain themselves, as those of tests do.
pytest.register_assert_rewrite(
    "headrace.testing._reading",
    "headrace.testing._sink_contract",
    "headrace.testing._source_contract",
)

# Which server a fixture of a session starts.
SERVERS = {
    "cluster": "cluster",
    "hadoop_conf": "yarn",
    "kafka_server": "kafka",
    "registry_url": "kafka",
    "redis_of_session": "redis",
    "postgres_of_session": "postgres",
    "hdfs_of_session": "storage",
    "s3_of_session": "storage",
    "azure_of_session": "storage",
}

# Shared cores make single examples slow at random; a failure prints how to play it again.
settings.register_profile("headrace", max_examples=examples(40), deadline=None, print_blob=True)
settings.load_profile("headrace")


MEMORY = "/dev/shm"  # on Linux
MEMORY_BYTES = 4 << 30  # all tests together need less


def pytest_configure() -> None:
    """Make temporary files in memory: tests of files take a quarter less processor time."""
    has_memory = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES
    if "TMPDIR" not in os.environ and has_memory:
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY
    drawn.seed()


def pytest_report_header() -> str:
    return f"drawn tests: {drawn.VARIABLE}={drawn.seed()}"


@pytest.fixture(scope="session", autouse=True)
def disk_is_not_waited_for() -> Iterator[None]:
    """``fsync`` only looks whether the file is open: no test takes the machine's power away.

    Thousands of waits for the disk were seconds of the whole. That files are synced, and in which
    order, tests/contract/test_object_store.py finds by the calls.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what collection made out of every later garbage collection.

    The modules and the thousands of tests live to the end, and each full collection went through
    all of them: a tenth of the processor's time. What a test makes is collected as ever.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(5000)  # tests make many objects and few circles


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--dist loadgroup`` a worker takes whole files, or all that use one server.

    So each server is started once, and what a file makes for all its tests is made once. Groups
    with most long tests are begun first, so that no worker is left with one of them at the end.
    The tests of ``long.txt`` are marked, and those of ``drawn.txt`` that are not drawn.
    """
    long = long_tests()
    names = [item.nodeid for item in items if item.get_closest_marker("proof") is None]
    left = drawn.not_drawn(names, drawn.seed(), drawn.pools())
    group_of: dict[str, str] = {}
    sizes: Counter[str] = Counter()
    for item in items:
        if item.nodeid in left:
            item.add_marker(pytest.mark.proof)
        own = item.get_closest_marker("xdist_group")
        used = {SERVERS[name] for name in getattr(item, "fixturenames", ()) if name in SERVERS}
        group = own.args[0] if own else min(used, default=str(item.path))
        group_of[item.nodeid] = group
        if own is None:  # of two, a group of both names would be made
            item.add_marker(pytest.mark.xdist_group(group))
        if item.nodeid.partition("[")[0] in long:
            item.add_marker(pytest.mark.long)
            sizes[group] += 1
    if getattr(config.option, "loadgroup", False):
        items.sort(key=lambda item: -sizes[group_of[item.nodeid]])


def missing_becomes_failure(report: Any, environ: Any = os.environ) -> None:
    """In CI nothing may be missing: a skip that starts with "missing:" fails there.

    Tests skip with ``pytest.skip("missing: <what>, <how to get it>")`` or a skipif of that reason.
    """
    if environ.get("CI") != "true" or not report.skipped or not isinstance(report.longrepr, tuple):
        return
    path, line, reason = report.longrepr
    if reason.removeprefix("Skipped: ").startswith("missing:"):
        report.outcome = "failed"
        report.longrepr = f"{path}:{line}: {reason.removeprefix('Skipped: ')} (a failure in CI)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    report = yield
    missing_becomes_failure(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    report = yield
    missing_becomes_failure(report)
    return report
