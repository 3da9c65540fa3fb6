"""The keys that a configuration may hold, and their typed reading.

``OPTIONS`` is the list: Flink's keys that mean something here, Flink's that do not
(``flink_options``), and our own under ``headrace.``. The few families of keys with a free part
are in ``PREFIXES``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from headrace.common._options import dependencies, flink_keys
from headrace.common._options.option import ConfigOption
from headrace.common._options.values import ValueKind, text_of
from headrace.common._options.without_effect import PREFIXES_WITHOUT_EFFECT, WITHOUT_EFFECT
from headrace.errors import ConfigurationError

T = TypeVar("T")

FRESH_VARIABLE = "HEADRACE_FRESH"
"""In the environment, "1" for a program that starts anew instead of from its checkpoint."""

SETTINGS_VARIABLE = "HEADRACE_SETTINGS"
"""In the environment, settings by key (JSON); what a program sets itself counts before them."""

LOCAL_VARIABLE = "HEADRACE_LOCAL"
"""In the environment, "1" where jobs run in their program's process, whatever the program says."""

SPARK_CONF_PREFIX = "headrace.spark.conf."

PIPELINE_NAME: ConfigOption[str | None] = ConfigOption(
    "pipeline.name", ValueKind.STRING, None, "The job's name; it also names the checkpoint."
)
OBJECT_REUSE: ConfigOption[bool] = ConfigOption(
    "pipeline.object-reuse",
    ValueKind.BOOLEAN,
    False,
    "Whether an operator's output goes to the next operator of its chain without a copy.",
)
AUTO_WATERMARK_INTERVAL: ConfigOption[int] = ConfigOption(
    "pipeline.auto-watermark-interval",
    ValueKind.DURATION,
    200,
    "Kept: watermarks follow every chunk of records (headrace.watermark.chunk-records).",
    has_effect=False,
)
DEFAULT_MAX_PARALLELISM = 128
"""Flink's default number of key groups."""

MAX_PARALLELISM: ConfigOption[int] = ConfigOption(
    "pipeline.max-parallelism",
    ValueKind.INT,
    DEFAULT_MAX_PARALLELISM,
    "The number of key groups; fixed for the life of a checkpoint.",
)
CHAINING: ConfigOption[bool] = ConfigOption(
    "pipeline.operator-chaining.enabled",
    ValueKind.BOOLEAN,
    True,
    "Whether operators without an exchange between them run as one.",
    fallback_keys=("pipeline.operator-chaining",),
)
COMBINING: ConfigOption[bool] = ConfigOption(
    "headrace.combining.enabled",
    ValueKind.BOOLEAN,
    True,
    "Whether records are combined by key before they are sent, where the function allows it.",
)
COLUMNS: ConfigOption[bool] = ConfigOption(
    "headrace.columns.enabled",
    ValueKind.BOOLEAN,
    True,
    "Whether records go as columns from sources that have them to operators that take them.",
)
CHAINING_ACROSS_MAX_PARALLELISM: ConfigOption[bool] = ConfigOption(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    ValueKind.BOOLEAN,
    True,
    "Whether operators of different maximal parallelism may run as one.",
)
JOB_PARAMETERS: ConfigOption[dict[str, str]] = ConfigOption(
    "pipeline.global-job-parameters",
    ValueKind.MAP,
    {},
    "What RuntimeContext.get_job_parameter reads.",
)
PARALLELISM: ConfigOption[int | None] = ConfigOption(
    "parallelism.default",
    ValueKind.INT,
    None,
    "The number of tasks of a stage; by default as many as the driver's machine has cores.",
)
RUNTIME_MODE: ConfigOption[str] = ConfigOption(
    "execution.runtime-mode",
    ValueKind.CHOICE,
    "STREAMING",
    "How the job runs; AUTOMATIC is BATCH when every source is bounded.",
    choices=("STREAMING", "BATCH", "AUTOMATIC"),
)
TARGET: ConfigOption[str] = ConfigOption(
    "execution.target",
    ValueKind.CHOICE,
    "spark",
    "Where the job runs: on Spark, or in this process in plain Python.",
    choices=("spark", "local"),
)
CHECKPOINT_DIR: ConfigOption[str | None] = ConfigOption(
    "execution.checkpointing.dir",
    ValueKind.STRING,
    None,
    "Where checkpoints lie; a job started again with the same name goes on from there.",
    fallback_keys=("state.checkpoints.dir",),
)
IGNORE_UNCLAIMED_STATE: ConfigOption[bool] = ConfigOption(
    "execution.state-recovery.ignore-unclaimed-state",
    ValueKind.BOOLEAN,
    False,
    "Give up what a checkpoint keeps of sources, operators and sinks that are no longer there.",
    fallback_keys=("execution.savepoint.ignore-unclaimed-state",),
)
RESTORE_WRITE_AGAIN: ConfigOption[bool] = ConfigOption(
    "headrace.restore.write-again",
    ValueKind.BOOLEAN,
    False,
    "What happens if sinks have later micro-batches than the checkpoint, which is then an older"
    " copy. If false, the job is refused. If true, it goes on from the copy, and writes the"
    " records after the copy again, beside what the sinks have of them.",
)
CHECKPOINTING_MODE: ConfigOption[str] = ConfigOption(
    "execution.checkpointing.mode",
    ValueKind.CHOICE,
    "EXACTLY_ONCE",
    "No effect: state is always exactly-once; each sink says what it guarantees.",
    choices=("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    fallback_keys=("execution.checkpointing.consistency-mode",),
    has_effect=False,
)
SAVEPOINT_DIR: ConfigOption[str | None] = ConfigOption(
    "execution.checkpointing.savepoint-dir",
    ValueKind.STRING,
    None,
    "No effect: there are no savepoints.",
    fallback_keys=("state.savepoints.dir",),
    has_effect=False,
)
STATE_BACKEND: ConfigOption[str] = ConfigOption(
    "state.backend.type",
    ValueKind.STRING,
    "",
    "No effect: the runner chooses (paged on Spark, heap in batch and locally).",
    fallback_keys=("state.backend",),
    has_effect=False,
)
RESTART_STRATEGY: ConfigOption[str] = ConfigOption(
    "restart-strategy.type",
    ValueKind.CHOICE,
    "none",
    "Whether and when a failed job is restarted.",
    choices=("none", "off", "disable", "fixed-delay", "exponential-delay", "failure-rate"),
    fallback_keys=("restart-strategy",),
)
FIXED_DELAY_ATTEMPTS: ConfigOption[int] = ConfigOption(
    "restart-strategy.fixed-delay.attempts", ValueKind.INT, 1, "How often the job is restarted."
)
FIXED_DELAY: ConfigOption[int] = ConfigOption(
    "restart-strategy.fixed-delay.delay", ValueKind.DURATION, 1000, "The wait before a restart."
)
EXPONENTIAL_INITIAL_BACKOFF: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff",
    ValueKind.DURATION,
    1000,
    "The wait before the first restart.",
)
EXPONENTIAL_MAX_BACKOFF: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff",
    ValueKind.DURATION,
    60_000,
    "The longest wait before a restart.",
)
EXPONENTIAL_MULTIPLIER: ConfigOption[float] = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier",
    ValueKind.DOUBLE,
    1.5,
    "The factor by which the wait grows with each failure.",
)
EXPONENTIAL_RESET: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    ValueKind.DURATION,
    3_600_000,
    "How long the job must run without a failure until the wait is the first one again.",
)
EXPONENTIAL_JITTER: ConfigOption[float] = ConfigOption(
    "restart-strategy.exponential-delay.jitter-factor",
    ValueKind.DOUBLE,
    0.1,
    "The share of the wait that is random.",
)
EXPONENTIAL_ATTEMPTS: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    ValueKind.INT,
    2**31 - 1,
    "How many restarts there are, without a reset of the wait, before the job fails.",
)
FAILURE_RATE_MAX: ConfigOption[int] = ConfigOption(
    "restart-strategy.failure-rate.max-failures-per-interval",
    ValueKind.INT,
    1,
    "How many failures within the interval lead to a restart.",
)
FAILURE_RATE_INTERVAL: ConfigOption[int] = ConfigOption(
    "restart-strategy.failure-rate.failure-rate-interval",
    ValueKind.DURATION,
    60_000,
    "The interval in which failures are counted.",
)
FAILURE_RATE_DELAY: ConfigOption[int] = ConfigOption(
    "restart-strategy.failure-rate.delay",
    ValueKind.DURATION,
    1000,
    "The wait before a restart.",
)
MAX_RECORDS_PER_BATCH: ConfigOption[int | None] = ConfigOption(
    "headrace.source.max-records-per-batch",
    ValueKind.INT,
    None,
    "The most records of a micro-batch, shared by the sources that still run; by default 2,000,000"
    " for each task of a stage (local runner: 50,000 in all).",
)
MIN_RECORDS_PER_BATCH: ConfigOption[int] = ConfigOption(
    "headrace.source.min-records-per-batch",
    ValueKind.INT,
    1_000,
    "A micro-batch may hold this many records however long the last ones took; at most the"
    " maximum.",
)
INITIAL_RECORDS_PER_BATCH: ConfigOption[int] = ConfigOption(
    "headrace.source.first-records-per-batch",
    ValueKind.INT,
    50_000,
    "The most records of a run's first micro-batch; later sizes depend on how long it took.",
)
BATCH_TARGET: ConfigOption[int] = ConfigOption(
    "headrace.source.batch-duration",
    ValueKind.DURATION,
    10_000,
    "How long a micro-batch shall take at most while there is a backlog: Spark's next one holds"
    " more or fewer records, between the minimum and the maximum. Where a micro-batch's fixed price"
    " would be more than a third of it, up to six times as long. 0: always the maximum.",
)
MAX_BYTES_PER_BATCH: ConfigOption[int | None] = ConfigOption(
    "headrace.source.max-bytes-per-batch",
    ValueKind.MEMORY,
    None,
    "The most bytes of a micro-batch, shared by the sources that still run; by default 128 MiB for"
    " each task of a stage.",
)
STOP_DRAIN: ConfigOption[bool] = ConfigOption(
    "headrace.stop.drain",
    ValueKind.BOOLEAN,
    True,
    "Whether event time ends where a source stops that has more (Kafka's stopping offsets): windows"
    " and timers fire then. If false, they stay open, and a later run on the checkpoint goes on"
    " there.",
)
PROCESSING_TIME_TICK: ConfigOption[int] = ConfigOption(
    "headrace.processing-time.tick",
    ValueKind.DURATION,
    200,
    "The time between empty micro-batches of a job that needs the clock.",
)
WATERMARK_CHUNK_RECORDS: ConfigOption[int] = ConfigOption(
    "headrace.watermark.chunk-records",
    ValueKind.INT,
    4096,
    "After how many records of a split the watermark is asked for; where that would be more than"
    " 16 times in a micro-batch, after a sixteenth of the split's records.",
)
STATE_PAGE_BYTES: ConfigOption[int] = ConfigOption(
    "headrace.state.page-bytes",
    ValueKind.MEMORY,
    16_384,
    "How large a page of state should be.",
)
STATE_VALUE_BYTES: ConfigOption[int] = ConfigOption(
    "headrace.state.max-value-bytes",
    ValueKind.MEMORY,
    64 << 20,
    "How large a value in state may be on Spark when it is pickled. A list or a map may be larger:"
    " this holds for each of its elements. Spark needs many times as much memory for it.",
)
CACHE_DIR: ConfigOption[str | None] = ConfigOption(
    "headrace.cache.dir",
    ValueKind.STRING,
    None,
    "A folder for the records of cached streams (`cache()`), which the program and all workers"
    " reach. By default a temporary one of this machine, right for the local runner and for Spark"
    " on one machine. It is emptied when the environment is closed, or when the program ends.",
)
FAILURE_CAPTURE_DIR: ConfigOption[str | None] = ConfigOption(
    "headrace.failure.capture-dir",
    ValueKind.STRING,
    None,
    "A local folder for failed calls of keyed tasks, each a file for `headrace replay`, ten at"
    " most; on a cluster a folder of the worker's machine. By default none is written.",
)

_WITH_EFFECT: tuple[ConfigOption[Any], ...] = tuple(
    value
    for value in (*list(globals().values()), *vars(dependencies).values())
    if isinstance(value, ConfigOption)
)

OPTIONS: dict[str, ConfigOption[Any]] = {
    key: option
    for option in (*_WITH_EFFECT, *WITHOUT_EFFECT)
    for key in (option.key, *option.fallback_keys)
}
"""Every known key, older names included, to its option."""

PREFIXES: dict[str, str] = {
    SPARK_CONF_PREFIX: "The rest of the key is set in the Spark session.",
    "orc.": "For `writer_properties` of `OrcBulkWriters.for_row_type`; no effect on a job.",
    **{prefix: f"No effect: {why}." for prefix, why in PREFIXES_WITHOUT_EFFECT.items()},
}
"""Families of keys: how they begin, and what they do."""


class Settings(Protocol):
    """What options are read from: a ``Configuration``."""

    def value_of(self, key: str) -> Any | None:
        """The value that was set, None where none was."""


def read(configuration: Settings, option: ConfigOption[T]) -> T:
    """The option's value, typed; its default where neither it nor an older name of it is set.

    Raises:
        ConfigurationError: the value does not parse.
    """
    for key in (option.key, *option.fallback_keys):
        value = configuration.value_of(key)
        if value is not None:
            return option.parse(value)
    return option.default


def check(key: str, value: Any) -> None:
    """Nothing, for a known key with a value that parses; for others of Flink's a note is printed.

    Raises:
        ConfigurationError: the key is not known (the nearest are named), or the value does not fit.
    """
    option = OPTIONS.get(key)
    if option is not None:
        option.parse(value)
    elif any(key.startswith(prefix) and key != prefix for prefix in PREFIXES):
        return
    elif flink_keys.is_flink_key(key):
        flink_keys.warn_once(key)
    else:
        raise ConfigurationError(f"{key!r} is not a known key", hint=_nearest(key))


def spark_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """What to set in the Spark session: the keys under ``headrace.spark.conf.``, without it."""
    return {
        key.removeprefix(SPARK_CONF_PREFIX): text_of(value)
        for key, value in settings.items()
        if key.startswith(SPARK_CONF_PREFIX)
    }


def _nearest(key: str) -> str:
    if key.startswith("spark."):
        return f"Spark's settings are given as {SPARK_CONF_PREFIX}{key}"
    known = [*OPTIONS, *PREFIXES]
    near = difflib.get_close_matches(key.lower(), known, n=3, cutoff=0.6)
    closest = difflib.get_close_matches(key.lower(), flink_keys.names(), n=1, cutoff=0.85)
    near = [*near, *(name for name in closest if name not in near)]
    if not near:  # a key from memory often has the right last word and the wrong path
        last = key.lower().rpartition(".")[2]
        near = [candidate for candidate in known if last and last in candidate.split(".")][:3]
    if near:
        return f"did you mean {', or '.join(near)}?"
    return (
        "job parameters go into pipeline.global-job-parameters "
        "(env.get_config().set_global_job_parameters)"
    )
