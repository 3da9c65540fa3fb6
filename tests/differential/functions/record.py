"""Record what PyFlink answers to the programs with Python functions, into ``goldens.json``.

Run it at the root of the repository, with an interpreter that has ``apache-flink`` installed and
its folder first on the PATH::

    python -m tests.differential.functions.record [NAME ...]

With names, only those programs are recorded. The goldens are facts: never edited by hand.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

os.environ["TZ"] = "UTC"  # before the Java process starts

from tests.differential.functions.cases import GOLDENS, answer, goldens, programs

_CAUSE = re.compile(r"(?:Caused by: |: )((?:[a-z]\w*\.)+[A-Z][\w$]*)(?:: (.*))?")
_PYTHON = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception)): (.*)$", re.MULTILINE)


def start_cluster() -> int:
    """Start a cluster in the Java process of PyFlink, and return its port."""
    from pyflink.java_gateway import get_gateway

    flink = get_gateway().jvm.org.apache.flink
    config = flink.configuration.Configuration()
    for key, value in (
        ("rest.address", "localhost"),
        ("rest.bind-port", "18850-18950"),
        ("heartbeat.timeout", "600 s"),
        ("taskmanager.memory.network.min", "32mb"),
        ("taskmanager.memory.network.max", "32mb"),
        ("taskmanager.memory.managed.size", "256mb"),
    ):
        config.setString(key, value)
    builder = flink.runtime.minicluster.MiniClusterConfiguration.Builder()
    made = builder.setConfiguration(config).setNumTaskManagers(1).setNumSlotsPerTaskManager(4)
    cluster = flink.runtime.minicluster.MiniCluster(made.build())
    cluster.start()
    port: int = cluster.getRestAddress().get().getPort()
    return port


def environment(port: int) -> Any:
    """Return an environment; made as a local one, its Python workers are threads here."""
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    config = Configuration()
    for key, value in (
        ("execution.target", "local"),
        ("parallelism.default", "1"),
        ("restart-strategy.type", "none"),
        ("table.local-time-zone", "UTC"),
        ("rest.address", "localhost"),
        ("rest.port", str(port)),
        ("client.retry-period", "10 ms"),
    ):
        config.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config)
    t_env = TableEnvironment.create(settings.build())
    t_env.get_config().set("execution.target", "remote")
    return t_env


def said(error: Exception) -> str:
    """The innermost reason, in Python if it is there."""
    text = str(error)
    found = _PYTHON.findall(text) or _CAUSE.findall(text) or [(type(error).__name__, text)]
    return ": ".join(found[-1])[:300]


def main() -> None:
    wanted = sys.argv[1:]
    port = start_cluster()
    found = goldens() if GOLDENS.exists() else {}
    for name, program in programs("pyflink"):
        if wanted and name not in wanted:
            continue
        try:
            found[name] = answer(program, environment(port))
        except Exception as error:
            found[name] = {"error": said(error)}
        print(name, found[name], flush=True)
        text = json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False)
        GOLDENS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
