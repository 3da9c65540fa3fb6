"""What both of Flink's peers need: a local Flink of two slots with checkpoints."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from bench.peers.protocol import Task

PARALLELISM = 2


def use_this_python() -> None:
    """Let Flink, which starts ``python`` by that name, find this interpreter and this code."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(Path.cwd())


def settings(task: Task) -> dict[str, str]:
    """Two slots, checkpoints every ten seconds, the state on the JVM's heap unless told otherwise.

    The heap is the faster of Flink's two backends for state of this size.
    """
    return {
        "execution.target": "local",
        "parallelism.default": str(PARALLELISM),
        "taskmanager.numberOfTaskSlots": str(PARALLELISM),
        "taskmanager.memory.managed.size": "1 gb",
        "pipeline.object-reuse": "true",
        "state.backend.type": task.option("backend", "hashmap"),
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.dir": (task.folder / "checkpoints").as_uri(),
        "restart-strategy.type": "none",
        "heartbeat.timeout": "600 s",
        "rest.port": "0",
    }


def environment(values: dict[str, str]) -> Any:
    """An environment with these settings."""
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment

    configuration = Configuration()
    for key, value in values.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def numbers(env: Any, records: int) -> Any:
    """The indexes 0, 1, … of so many records, from Flink's own source in the JVM."""
    from pyflink.common import Types, WatermarkStrategy
    from pyflink.datastream.connectors.number_seq import NumberSequenceSource

    source = NumberSequenceSource(0, records - 1)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
