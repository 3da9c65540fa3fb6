"""Flink's keys that are accepted and have no effect: key, type, Flink's default, reason."""

from __future__ import annotations

from typing import Any

from headrace.common._options.option import ConfigOption
from headrace.common._options.values import ValueKind

_JVM = "Headrace has no Flink JVM and none of its serializers"
_BATCH = "every micro-batch is a checkpoint, which Spark makes and keeps"
_MEMORY = "Spark's configuration sets memory and slots: headrace.spark.conf.*"
_WORKER = "Spark starts and feeds the Python workers"
_STATE = "state lives in Spark's state store, in pages"
_BARRIER = "there are no barriers: a micro-batch is committed as a whole"

_ROWS: tuple[tuple[str, ValueKind, Any, str], ...] = (
    ("pipeline.closure-cleaner-level", ValueKind.STRING, "RECURSIVE", _JVM),
    ("pipeline.force-kryo", ValueKind.BOOLEAN, False, _JVM),
    ("pipeline.force-avro", ValueKind.BOOLEAN, False, _JVM),
    ("pipeline.generic-types", ValueKind.BOOLEAN, True, _JVM),
    ("pipeline.auto-generate-uids", ValueKind.BOOLEAN, True, _JVM),
    ("pipeline.serialization-config", ValueKind.STRING, "", _JVM),
    ("pipeline.jars", ValueKind.LIST, [], _JVM),
    ("pipeline.classpaths", ValueKind.LIST, [], _JVM),
    ("pipeline.vertex-description-mode", ValueKind.STRING, "TREE", _JVM),
    ("execution.buffer-timeout.enabled", ValueKind.BOOLEAN, True, "records travel in blocks"),
    ("execution.buffer-timeout.interval", ValueKind.DURATION, 100, "records travel in blocks"),
    ("execution.batch-shuffle-mode", ValueKind.STRING, "", "Spark exchanges the data"),
    ("execution.attached", ValueKind.BOOLEAN, False, "execute waits, execute_async does not wait"),
    (
        "execution.shutdown-on-attached-exit",
        ValueKind.BOOLEAN,
        False,
        "the job runs in the driver, and ends with it",
    ),
    ("execution.checkpointing.max-concurrent-checkpoints", ValueKind.INT, 1, _BATCH),
    ("execution.checkpointing.incremental", ValueKind.BOOLEAN, False, _BATCH),
    ("execution.checkpointing.storage", ValueKind.STRING, "", _BATCH),
    ("execution.checkpointing.snapshot-compression", ValueKind.BOOLEAN, False, _BATCH),
    ("execution.checkpointing.interval-during-backlog", ValueKind.DURATION, 0, _BATCH),
    ("execution.checkpointing.local-backup.enabled", ValueKind.BOOLEAN, False, _BATCH),
    ("execution.checkpointing.file-merging.enabled", ValueKind.BOOLEAN, False, _BATCH),
    ("execution.checkpointing.checkpoints-after-tasks-finish", ValueKind.BOOLEAN, True, _BATCH),
    ("execution.checkpointing.unaligned.enabled", ValueKind.BOOLEAN, False, _BARRIER),
    ("execution.checkpointing.unaligned.forced", ValueKind.BOOLEAN, False, _BARRIER),
    ("execution.checkpointing.aligned-checkpoint-timeout", ValueKind.DURATION, 0, _BARRIER),
    ("metrics.latency.interval", ValueKind.DURATION, 0, "Spark's progress reports durations"),
    ("task.cancellation.interval", ValueKind.DURATION, 30_000, "Spark cancels tasks"),
    ("task.cancellation.timeout", ValueKind.DURATION, 180_000, "Spark cancels tasks"),
    ("state.backend.incremental", ValueKind.BOOLEAN, False, _STATE),
    ("state.backend.local-recovery", ValueKind.BOOLEAN, False, _STATE),
    ("state.changelog.enabled", ValueKind.BOOLEAN, False, _STATE),
    (
        "pipeline.time-characteristic",
        ValueKind.STRING,
        "EventTime",
        "watermark strategies and windows say which time they use",
    ),
    ("python.fn-execution.bundle.size", ValueKind.INT, 1000, _WORKER),
    ("python.fn-execution.bundle.time", ValueKind.LONG, 1000, _WORKER),
    ("python.fn-execution.arrow.batch.size", ValueKind.INT, 1000, _WORKER),
    ("python.fn-execution.memory.managed", ValueKind.BOOLEAN, True, _WORKER),
    ("python.fn-execution.buffer.memory.size", ValueKind.MEMORY, 15 << 20, _WORKER),
    ("python.fn-execution.streaming.enabled", ValueKind.BOOLEAN, True, _WORKER),
    ("python.execution-mode", ValueKind.STRING, "process", _WORKER),
    ("python.operator-chaining.enabled", ValueKind.BOOLEAN, True, _WORKER),
    ("python.state.cache-size", ValueKind.INT, 1000, _STATE),
    ("python.map-state.read-cache-size", ValueKind.INT, 1000, _STATE),
    ("python.map-state.write-cache-size", ValueKind.INT, 1000, _STATE),
    ("python.map-state.iterate-response-batch-size", ValueKind.INT, 1000, _STATE),
    ("python.metric.enabled", ValueKind.BOOLEAN, True, _WORKER),
    ("python.profile.enabled", ValueKind.BOOLEAN, False, _WORKER),
    ("python.systemenv.enabled", ValueKind.BOOLEAN, True, _WORKER),
    ("python.client.executable", ValueKind.STRING, "python", "the driver is the program's own"),
)

WITHOUT_EFFECT: tuple[ConfigOption[Any], ...] = tuple(
    ConfigOption(key, kind, default, f"No effect: {reason}.", has_effect=False)
    for key, kind, default, reason in _ROWS
)

PREFIXES_WITHOUT_EFFECT: dict[str, str] = {
    "taskmanager.": _MEMORY,
    "jobmanager.": _MEMORY,
    "cluster.": "there is no Flink cluster",
    "rest.": "there is no Flink cluster",
    "kubernetes.": "Spark's session says where it runs",
    "yarn.": "Spark's session says where it runs",
    "high-availability.": "a job is restarted on its checkpoint",
    "security.": "Spark's session holds the credentials",
    "env.": "there is no Flink JVM",
    "state.backend.rocksdb.": _STATE,
}
"""Beginnings of keys, with the reason why they have no effect. Any value is accepted."""
