"""A job with much state: ``python -m bench.measure.recovery_job PACKAGE FOLDER KEYS ATTEMPT``.

It keeps a text of 200 characters for each key, which counts its updates, and runs until it is
killed. Files in the folder tell what happened: ``full``, once each key has a text, and
``first-ATTEMPT``, once a record has found a text after a start. A folder ``wanted`` asks for a
savepoint, whose place and seconds are then in ``saved.json``. A further argument is the checkpoint
or savepoint to begin with.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench import jobs
from bench.peers import flink
from bench.peers.protocol import Task

VALUE_CHARS, BATCH_RECORDS, MANY = 200, 100_000, 1 << 50
NAME = "texts"


def texts(api: jobs.Api, folder: str, attempt: str) -> Any:
    """The keyed function."""

    class Texts(api.datastream.KeyedProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            descriptor = api.state.ValueStateDescriptor("text", api.common.Types.STRING())
            self.text = runtime_context.get_state(descriptor)
            self.waits = not os.path.exists(f"{folder}/first-{attempt}")

        def process_element(self, key: Any, ctx: Any) -> Any:
            before = self.text.value()
            count = int(before or 0) + 1
            self.text.update(f"{count:0{VALUE_CHARS}d}")
            if self.waits and before:
                self.waits = False
                Path(f"{folder}/first-{attempt}").touch()
            # Two readers pass all keys: at the third time one of them has passed them all.
            if key == 0 and count == 3:
                Path(f"{folder}/full").touch()
            return ()

    return Texts()


def settings(package: str, folder: Path, keys: int, restored: str | None) -> dict[str, str]:
    """The settings of either; Flink's state is in RocksDB, with incremental checkpoints."""
    begin = {"execution.state-recovery.path": restored} if restored else {}
    if package == "headrace":
        return {
            "parallelism.default": "2",
            "execution.checkpointing.dir": str(folder / "checkpoint"),
            "headrace.source.max-records-per-batch": str(BATCH_RECORDS),
            "headrace.source.min-records-per-batch": str(BATCH_RECORDS),
            **begin,
        }
    task = Task("recovery", 0, keys, "uniform", {"backend": "rocksdb"}, folder, folder)
    return {
        **flink.settings(task),
        "python.execution-mode": "thread",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        **begin,
    }


def environment(package: str, values: dict[str, str]) -> Any:
    """An environment of either with these settings."""
    if package == "pyflink":
        flink.use_this_python()
        return flink.environment(values)
    from headrace.common import Configuration
    from headrace.datastream import StreamExecutionEnvironment

    return StreamExecutionEnvironment(Configuration.from_dict(values))


def numbers(package: str, env: Any) -> Any:
    """The numbers from 0, without an end."""
    return flink.numbers(env, MANY) if package == "pyflink" else env.from_sequence(0, MANY - 1)


def savepoint(package: str, client: Any, place: str) -> str:
    """Take a savepoint; its place."""
    if package == "headrace":
        return str(client.trigger_savepoint(place).result())
    # PyFlink 2.3.0 calls a method that Flink no longer has.
    from pyflink.java_gateway import get_gateway

    forms = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType
    return str(client._j_job_client.triggerSavepoint(place, forms.CANONICAL).get())


def main() -> None:
    package, folder, keys, attempt, *rest = sys.argv[1:]
    count, api = int(keys), jobs.Api(package)
    env = environment(package, settings(package, Path(folder), count, *rest or (None,)))
    long = api.common.Types.LONG()
    keyed = numbers(package, env).map(lambda n: n % count, long).key_by(lambda key: key, long)
    function = texts(api, folder, attempt)
    keyed.process(function, long).uid("texts").print()
    client = env.execute_async(NAME)
    while not os.path.exists(f"{folder}/wanted"):
        time.sleep(0.02)
    began = time.monotonic()
    place = savepoint(package, client, f"{folder}/savepoints")
    answer = {"place": place, "seconds": time.monotonic() - began}
    Path(f"{folder}/saved.part").write_text(json.dumps(answer))
    os.rename(f"{folder}/saved.part", f"{folder}/saved.json")
    client.get_job_execution_result().result()


if __name__ == "__main__":
    main()
