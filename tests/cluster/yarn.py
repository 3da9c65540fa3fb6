"""A YARN for tests: a resource manager and two node managers in one JVM, driven over py4j."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from headrace.dev.artifacts import install_server, read_pinned_files
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java
from tests.cluster.standalone import SPARK_HOME
from tests.storage.servers import LISTED

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
    try:
        folders = [
            install_server(name, parts=read_pinned_files(name, LISTED)) for name in ("hdfs", "yarn")
        ]
        java = find_java().home
    except JobError as error:
        pytest.skip(f"missing: yarn: {error.message}; {error.hint}")
    settings = folder / "hadoop"
    settings.mkdir()
    with (folder / "yarn.log").open("wb") as log, mock.patch.dict(os.environ, _environment(java)):
        port, process = launch_gateway(
            jarpath=str(next((SPARK_HOME / "jars").glob("py4j-*.jar"))),
            classpath=":".join(f"{jars}/*" for jars in [*folders, SPARK_HOME / "jars"]),
            javaopts=["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
            java_path=str(java / "bin" / "java"),
            redirect_stdout=log,
            redirect_stderr=log,
            die_on_exit=True,
            return_proc=True,
            cwd=str(folder),
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        try:
            try:
                _start(gateway, settings)
            except Py4JJavaError as error:
                raise RuntimeError(str(error)) from None  # its text is lost with the gateway
            yield settings
        finally:
            gateway.close()
            process.kill()
            process.wait()


def _start(gateway: JavaGateway, settings: Path) -> None:
    hadoop = gateway.jvm.org.apache.hadoop
    configuration = hadoop.yarn.conf.YarnConfiguration()
    for key, value in _SETTINGS.items():
        configuration.set(key, value)
    cluster = hadoop.yarn.server.MiniYARNCluster("headrace", NODES, 1, 1)
    cluster.init(configuration)
    cluster.start()
    assert cluster.waitForNodeManagersToConnect(60_000)
    file = gateway.jvm.java.io.FileOutputStream(str(settings / "yarn-site.xml"))
    cluster.getConfig().writeXml(file)
    file.close()


def _environment(java: Path) -> dict[str, str]:
    """What containers inherit from their node manager: nothing that leads to the driver's code."""
    return {"JAVA_HOME": str(java), "PATH": os.defpath}
