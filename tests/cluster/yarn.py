"""A YARN for tests: a resource manager and two node managers in one JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hadoop import hadoop

NODES = 2
_SETTINGS = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
    "yarn.nodemanager.resource.memory-mb": "3072",
    "yarn.scheduler.minimum-allocation-mb": "128",
    # Python workers have much address space and little memory.
    "yarn.nodemanager.vmem-check-enabled": "false",
    # A full disk of the machine must not make a node unhealthy.
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
}


@contextmanager
def yarn(folder: Path) -> Iterator[Path]:
    """Run a cluster whose containers work below ``folder``; yield the folder of its settings.

    The containers' logs are below ``folder``, too.
    """
    with hadoop(folder, "hdfs", "yarn") as gateway:
        classes = gateway.jvm.org.apache.hadoop.yarn
        configuration = classes.conf.YarnConfiguration()
        for key, value in _SETTINGS.items():
            configuration.set(key, value)
        cluster = classes.server.MiniYARNCluster("headrace", NODES, 1, 1)
        cluster.init(configuration)
        cluster.start()
        assert cluster.waitForNodeManagersToConnect(60_000)
        settings = folder / "hadoop"
        settings.mkdir()
        file = gateway.jvm.java.io.FileOutputStream(str(settings / "yarn-site.xml"))
        cluster.getConfig().writeXml(file)
        file.close()
        yield settings
