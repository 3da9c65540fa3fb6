"""The list of all configuration keys (``OPTIONS``), and functions that check and read them.

Keys are Flink's, or begin with ``headrace.``. Flink's keys without effect are in
``without_effect.py``. Keys with a free part, such as ``headrace.spark.conf.*``, are in
``PREFIXES``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from headrace.common._options import dependencies, flink_keys, metric_reporters
from headrace.common._options.option import ConfigOption
from headrace.common._options.table import TABLE_OPTIONS
from headrace.common._options.values import ValueKind, text_of
from headrace.common._options.without_effect import PREFIXES_WITHOUT_EFFECT, WITHOUT_EFFECT
from headrace.errors import ConfigurationError

T = TypeVar("T")

FRESH_VARIABLE = "HEADRACE_FRESH"
"""Environment variable: "1" starts the program anew, not from its checkpoint."""

START_VARIABLE = "HEADRACE_START"
"""Environment variable: names a start of the program that is repeated after a crash. What it begins
anew, it begins anew once."""

RESTARTED_VARIABLE = "HEADRACE_RESTARTED"
"""Environment variable: why a supervisor has started the program again."""

STANDBY_VARIABLE = "HEADRACE_STANDBY"
"""Environment variable: "1" waits while another driver runs on the checkpoint."""

SETTINGS_VARIABLE = "HEADRACE_SETTINGS"
"""Environment variable: settings as a JSON object; the program's own settings take precedence."""

UI_VARIABLE = "HEADRACE_UI"
"""Environment variable: "1" serves the page of jobs by default, as ``headrace run`` does."""

LOCAL_VARIABLE = "HEADRACE_LOCAL"
"""Environment variable: "1" runs jobs in the program's process, whatever target it sets."""

SPARK_CONF_PREFIX = "headrace.spark.conf."

PIPELINE_NAME: ConfigOption[str | None] = ConfigOption(
    "pipeline.name", ValueKind.STRING, None, "The job's name; it also names the checkpoint."
)
OBJECT_REUSE: ConfigOption[bool] = ConfigOption(
    "pipeline.object-reuse",
    ValueKind.BOOLEAN,
    False,
    "Whether an operator's output is passed to the next operator of its chain without a copy.",
)
AUTO_WATERMARK_INTERVAL: ConfigOption[int] = ConfigOption(
    "pipeline.auto-watermark-interval",
    ValueKind.DURATION,
    200,
    "No effect: watermarks follow every chunk of records (headrace.watermark.chunk-records).",
    has_effect=False,
)
DEFAULT_MAX_PARALLELISM = 128
"""Flink's default number of key groups."""

MAX_PARALLELISM: ConfigOption[int] = ConfigOption(
    "pipeline.max-parallelism",
    ValueKind.INT,
    DEFAULT_MAX_PARALLELISM,
    "The number of key groups; it cannot change while a checkpoint is used.",
)
CHAINING: ConfigOption[bool] = ConfigOption(
    "pipeline.operator-chaining.enabled",
    ValueKind.BOOLEAN,
    True,
    "Whether operators without an exchange between them run in one task, as a chain.",
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
    "Whether columnar sources, such as Parquet files, pass columns to operators that accept them.",
)
CHAINING_ACROSS_MAX_PARALLELISM: ConfigOption[bool] = ConfigOption(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    ValueKind.BOOLEAN,
    True,
    "Whether operators with different maximum parallelism may be chained.",
)
JOB_PARAMETERS: ConfigOption[dict[str, str]] = ConfigOption(
    "pipeline.global-job-parameters",
    ValueKind.MAP,
    {},
    "Parameters that functions read with RuntimeContext.get_job_parameter.",
)
PARALLELISM: ConfigOption[int | None] = ConfigOption(
    "parallelism.default",
    ValueKind.INT,
    None,
    "The number of tasks of a stage. By default the parallelism of the job's checkpoint."
    " Without a checkpoint, the default is the number of cores. On a cluster this is"
    " spark.default.parallelism; otherwise the largest number of executors in the settings times"
    " their cores; otherwise the cores of the executors that have registered."
    " If the value has changed since the last start, the job moves its state to the new tasks.",
    least=1,
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
    "The folder of checkpoints: a path or a URL. If a job is started again with the same name,"
    " it continues from its checkpoint.",
    fallback_keys=("state.checkpoints.dir",),
)
IGNORE_UNCLAIMED_STATE: ConfigOption[bool] = ConfigOption(
    "execution.state-recovery.ignore-unclaimed-state",
    ValueKind.BOOLEAN,
    False,
    "Whether to drop the state of sources, operators and sinks that the program no longer has.",
    fallback_keys=("execution.savepoint.ignore-unclaimed-state",),
)
RESTORE_WRITE_AGAIN: ConfigOption[bool] = ConfigOption(
    "headrace.restore.write-again",
    ValueKind.BOOLEAN,
    False,
    "What happens if a sink has later micro-batches than the checkpoint or the savepoint: then"
    " the job goes back to an older state. If false, the job is refused. If true, the job"
    " continues from the older state, and writes the later results a second time.",
)
RESTORE_ALLOW_PICKLES: ConfigOption[bool] = ConfigOption(
    "headrace.restore.allow-pickles",
    ValueKind.BOOLEAN,
    False,
    "Whether a savepoint may have pickled objects of any class (`headrace run --allow-pickles`)."
    " To read them can run code of the savepoint's author. If false, only values, dataclasses,"
    " enums and named tuples are read.",
)
RESTORE_ACCEPT_BOUNDS: ConfigOption[bool] = ConfigOption(
    "headrace.restore.accept-bounds",
    ValueKind.BOOLEAN,
    False,
    "Whether a join may have wider bounds than in the checkpoint or savepoint. Records that"
    " matched nothing within the earlier bounds were removed, so results with them are missing.",
)
RESTORE_DROP_PARTIAL_MATCHES: ConfigOption[bool] = ConfigOption(
    "headrace.restore.drop-partial-matches",
    ValueKind.BOOLEAN,
    False,
    "Whether the stages of a pattern may differ from those in the checkpoint or savepoint. Its"
    " partial matches are dropped, and counted as `numPartialMatchesDropped`; events that wait for"
    " the watermark are kept.",
)
MOVED_CLASSES: ConfigOption[dict[str, str]] = ConfigOption(
    "headrace.state.moved-classes",
    ValueKind.MAP,
    {},
    "The new names of classes whose objects are in state, by their old names:"
    " `old_module.Order:orders.model.Order`. A pair of modules moves all classes of a module.",
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
    "The folder below which savepoints are written if the request names no other folder.",
    fallback_keys=("state.savepoints.dir",),
)
SAVEPOINT_INTERVAL: ConfigOption[int] = ConfigOption(
    "headrace.savepoint.interval",
    ValueKind.DURATION,
    0,
    "The time between two periodic savepoints, below `execution.checkpointing.savepoint-dir`;"
    " 0: none are taken. They do not delay output.",
)
SAVEPOINTS_RETAINED: ConfigOption[int] = ConfigOption(
    "headrace.savepoint.num-retained",
    ValueKind.INT,
    1,
    "How many periodic savepoints are kept. When a newer one is complete, older periodic"
    " savepoints of the same job are removed.",
)
CHECKPOINT_INTERVAL: ConfigOption[int] = ConfigOption(
    "execution.checkpointing.interval",
    ValueKind.DURATION,
    0,
    "The time between two restore points, if `execution.checkpointing.num-retained` is more than"
    " 1; 0: 10 minutes. It does not delay output, because every micro-batch updates the checkpoint"
    " from which the job continues.",
)
CHECKPOINTS_RETAINED: ConfigOption[int] = ConfigOption(
    "execution.checkpointing.num-retained",
    ValueKind.INT,
    1,
    "How many checkpoints are kept: the job's own checkpoint, which every micro-batch updates, and"
    " restore points, which never change.",
    fallback_keys=("state.checkpoints.num-retained",),
)
CHECKPOINT_MIN_PAUSE: ConfigOption[int] = ConfigOption(
    "execution.checkpointing.min-pause",
    ValueKind.DURATION,
    0,
    "The least time between the end of one restore point and the start of the next.",
)
CHECKPOINT_TIMEOUT: ConfigOption[int] = ConfigOption(
    "execution.checkpointing.timeout",
    ValueKind.DURATION,
    600_000,
    "A restore point that is not complete after this time has failed.",
)
CHECKPOINT_FAILURES: ConfigOption[int] = ConfigOption(
    "execution.checkpointing.tolerable-failed-checkpoints",
    ValueKind.INT,
    -1,
    "How many restore points may fail in a row. If more fail, the job fails, and its restart"
    " strategy decides. -1: any number, because micro-batches are committed without them.",
)
CHECKPOINT_RETENTION: ConfigOption[str] = ConfigOption(
    "execution.checkpointing.externalized-checkpoint-retention",
    ValueKind.CHOICE,
    "RETAIN_ON_CANCELLATION",
    "When the job's checkpoint and its restore points are removed. RETAIN_ON_CANCELLATION: never."
    " DELETE_ON_CANCELLATION: when `JobClient.cancel` ends the job. NO_EXTERNALIZED_CHECKPOINTS:"
    " also when the job has read its input to the end. A signal or a failure never removes them.",
    choices=(
        "RETAIN_ON_CANCELLATION",
        "DELETE_ON_CANCELLATION",
        "NO_EXTERNALIZED_CHECKPOINTS",
    ),
)
RESTORE_PATH: ConfigOption[str | None] = ConfigOption(
    "execution.state-recovery.path",
    ValueKind.STRING,
    None,
    "The folder of a savepoint. A job without a checkpoint begins from it"
    " (`headrace run --from-savepoint`).",
    fallback_keys=("execution.savepoint.path",),
)
RESTORE_MODE: ConfigOption[str] = ConfigOption(
    "execution.state-recovery.claim-mode",
    ValueKind.CHOICE,
    "NO_CLAIM",
    "What happens to the savepoint from which a job begins. NO_CLAIM: it stays. CLAIM: it is"
    " removed after the job has committed its first micro-batch.",
    choices=("NO_CLAIM", "CLAIM"),
    fallback_keys=("execution.savepoint-restore-mode",),
)
STATE_BACKEND: ConfigOption[str] = ConfigOption(
    "state.backend.type",
    ValueKind.STRING,
    "",
    "No effect: the runner chooses (pages on Spark; memory in batch mode and locally).",
    fallback_keys=("state.backend",),
    has_effect=False,
)
RESTART_STRATEGY: ConfigOption[str] = ConfigOption(
    "restart-strategy.type",
    ValueKind.CHOICE,
    "none",
    "The restart strategy: whether a failed job is restarted, and after which delay.",
    choices=(
        *("none", "off", "disable", "fixed-delay", "exponential-delay", "failure-rate"),
        *("fixeddelay", "exponentialdelay", "failurerate"),
    ),
    fallback_keys=("restart-strategy",),
)
FIXED_DELAY_ATTEMPTS: ConfigOption[int] = ConfigOption(
    "restart-strategy.fixed-delay.attempts", ValueKind.INT, 1, "The number of restarts."
)
FIXED_DELAY: ConfigOption[int] = ConfigOption(
    "restart-strategy.fixed-delay.delay", ValueKind.DURATION, 1000, "The delay before a restart."
)
EXPONENTIAL_INITIAL_BACKOFF: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff",
    ValueKind.DURATION,
    1000,
    "The delay before the first restart.",
)
EXPONENTIAL_MAX_BACKOFF: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff",
    ValueKind.DURATION,
    60_000,
    "The longest delay before a restart.",
)
EXPONENTIAL_MULTIPLIER: ConfigOption[float] = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier",
    ValueKind.DOUBLE,
    1.5,
    "The factor by which the delay grows with each failure.",
)
EXPONENTIAL_RESET: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    ValueKind.DURATION,
    3_600_000,
    "After this time without a failure, the delay is set back to the initial delay.",
)
EXPONENTIAL_JITTER: ConfigOption[float] = ConfigOption(
    "restart-strategy.exponential-delay.jitter-factor",
    ValueKind.DOUBLE,
    0.1,
    "The random part of the delay, as a fraction of the delay.",
)
EXPONENTIAL_ATTEMPTS: ConfigOption[int] = ConfigOption(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    ValueKind.INT,
    2**31 - 1,
    "The job fails after this many restarts without a reset of the delay.",
)
FAILURE_RATE_MAX: ConfigOption[int] = ConfigOption(
    "restart-strategy.failure-rate.max-failures-per-interval",
    ValueKind.INT,
    1,
    "The job is restarted after at most this many failures within the interval.",
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
    "The delay before a restart.",
)
MAX_RECORDS_PER_BATCH: ConfigOption[int | None] = ConfigOption(
    "headrace.source.max-records-per-batch",
    ValueKind.INT,
    None,
    "The largest number of records in a micro-batch, divided among the running sources. The"
    " default is 4,000,000 for each task of a stage; on the local runner 50,000 in total.",
)
MIN_RECORDS_PER_BATCH: ConfigOption[int] = ConfigOption(
    "headrace.source.min-records-per-batch",
    ValueKind.INT,
    1_000,
    "The smallest limit for the records of a micro-batch, however long earlier micro-batches"
    " took. It is never above the maximum.",
)
INITIAL_RECORDS_PER_BATCH: ConfigOption[int] = ConfigOption(
    "headrace.source.first-records-per-batch",
    ValueKind.INT,
    50_000,
    "The largest number of records in the first micro-batch. The limits of later micro-batches"
    " depend on how long the earlier ones took.",
)
BATCH_TARGET: ConfigOption[int] = ConfigOption(
    "headrace.source.batch-duration",
    ValueKind.DURATION,
    10_000,
    "The target duration of a micro-batch while there is a backlog. On Spark the number of"
    " records is adapted to it, between the minimum and the maximum. If the fixed cost of a"
    " micro-batch is more than a third of the target, the target grows, up to six times. 0:"
    " every micro-batch may have the maximum.",
)
MAX_BYTES_PER_BATCH: ConfigOption[int | None] = ConfigOption(
    "headrace.source.max-bytes-per-batch",
    ValueKind.MEMORY,
    None,
    "The largest number of bytes in a micro-batch, divided among the running sources. The"
    " default is 128 MiB for each task of a stage.",
)
STOP_DRAIN: ConfigOption[bool] = ConfigOption(
    "headrace.stop.drain",
    ValueKind.BOOLEAN,
    True,
    "What happens when a source stops although it has more records (Kafka's stopping offsets)."
    " If true, event time ends, and windows and timers fire. If false, windows and timers stay"
    " open, and a later run continues from the checkpoint.",
)
STOP_TIMEOUT: ConfigOption[int] = ConfigOption(
    "headrace.stop.timeout",
    ValueKind.DURATION,
    20_000,
    "How long a job may take to complete its micro-batch when it is cancelled, also by SIGINT,"
    " SIGTERM or SIGHUP. After this time it ends at once, and the next start repeats the"
    " micro-batch. A job on Spark has one second if it has neither keyed state nor sinks that"
    " commit in their tasks. Set it below the time that the scheduler allows (30 s for a"
    " Kubernetes pod).",
)
PROCESSING_TIME_TICK: ConfigOption[int] = ConfigOption(
    "headrace.processing-time.tick",
    ValueKind.DURATION,
    200,
    "The time between empty micro-batches of a job with processing-time timers.",
)
WATERMARK_CHUNK_RECORDS: ConfigOption[int] = ConfigOption(
    "headrace.watermark.chunk-records",
    ValueKind.INT,
    4096,
    "After this many records of a split, the watermark generator is asked for a watermark. In"
    " large micro-batches it is asked less often: at most 16 times for each split, after each"
    " sixteenth of the split's records.",
)
STATE_PAGE_BYTES: ConfigOption[int] = ConfigOption(
    "headrace.state.page-bytes",
    ValueKind.MEMORY,
    16_384,
    "The target size of a page of state.",
)
STATE_VALUE_BYTES: ConfigOption[int] = ConfigOption(
    "headrace.state.max-value-bytes",
    ValueKind.MEMORY,
    64 << 20,
    "The largest pickled size of a value in state on Spark. For a list or a map it is the limit"
    " of each element. Spark needs many times this memory for such a value.",
)
QUERYABLE_STATE: ConfigOption[list[str]] = ConfigOption(
    "headrace.state.queryable",
    ValueKind.LIST,
    [],
    "The uids of the operators whose state can be queried, by `JobClient.query_state` and over"
    " HTTP. The driver keeps their pages of state in memory, and each micro-batch sends the pages"
    " that it has changed to the driver.",
)
QUERYABLE_BYTES: ConfigOption[int] = ConfigOption(
    "headrace.state.queryable-memory",
    ValueKind.MEMORY,
    256 << 20,
    "How much queryable state the driver keeps. If the state is larger, queries are refused and the"
    " job goes on.",
)
QUERY_SHARE: ConfigOption[float] = ConfigOption(
    "headrace.state.query-share",
    ValueKind.DOUBLE,
    0.5,
    "The share of a core that all queries of state together may take. Further queries are refused.",
)
CACHE_DIR: ConfigOption[str | None] = ConfigOption(
    "headrace.cache.dir",
    ValueKind.STRING,
    None,
    "The folder for the records of cached streams (`cache()`). The program and all workers must"
    " reach it. The default, a temporary folder, works on the local runner and for Spark on one"
    " machine. The records are deleted when the environment is closed, or when the program ends.",
)
FAILURE_CAPTURE_DIR: ConfigOption[str | None] = ConfigOption(
    "headrace.failure.capture-dir",
    ValueKind.STRING,
    None,
    "A local folder for the files of failed calls of keyed tasks, which `headrace replay`"
    " reads. There is one file for each failed call, at most ten. On a cluster the folder is on"
    " the worker's machine. By default no file is written.",
)
UI_TERMINAL: ConfigOption[str] = ConfigOption(
    "headrace.ui.terminal",
    ValueKind.CHOICE,
    "auto",
    "How a running job is shown on stderr. auto: a live display in a terminal or a notebook;"
    " elsewhere a line every ten seconds, as long as micro-batches are committed. lines: lines,"
    " in a terminal too. off: nothing.",
    choices=("auto", "lines", "off"),
)
UI_PORT: ConfigOption[int | None] = ConfigOption(
    "headrace.ui.port",
    ValueKind.INT,
    None,
    "The port of the page that shows a running job in a browser, and of the endpoints of"
    " Flink's REST API. 0: any free port; -1: no page. The default under `headrace run` is 8081,"
    " or a free port if 8081 is in use; on a cluster, and in other programs, there is no page by"
    " default.",
    fallback_keys=("rest.port",),
)
UI_HOST: ConfigOption[str] = ConfigOption(
    "headrace.ui.host",
    ValueKind.STRING,
    "127.0.0.1",
    "The address on which the page is served. By default only this machine can connect."
    " 0.0.0.0: every machine that reaches this one can connect.",
    fallback_keys=("rest.bind-address",),
)
UI_ADDRESS: ConfigOption[str | None] = ConfigOption(
    "headrace.ui.address",
    ValueKind.STRING,
    None,
    "The host name by which browsers reach the page, if it is not a name of this machine, for"
    " example that of an ingress or of a Kubernetes service. The page refuses requests to other"
    " names (status 421).",
    fallback_keys=("rest.address",),
)
UI_TOKEN: ConfigOption[str | None] = ConfigOption(
    "headrace.ui.token",
    ValueKind.STRING,
    None,
    "A password of your choice, which a reader needs to see values of records on the page:"
    " messages of exceptions, their records and keys. It is given after the address, as"
    " `#token=WORD`, or as a bearer token. If it is not set, the page shows no such values.",
)
LOG_LEVEL: ConfigOption[str | None] = ConfigOption(
    "headrace.logging.level",
    ValueKind.CHOICE,
    None,
    "The level of the root logger, in the program's process and in the tasks. Messages below"
    " this level are dropped. By default the level is not changed (Python's default is WARNING)."
    " headrace.logging.level.LOGGER sets the level of one logger.",
    choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    fallback_keys=("python.logging.default.level",),
)
LOG_LEVELS: ConfigOption[dict[str, str]] = ConfigOption(
    "python.logging.level.overrides",
    ValueKind.MAP,
    {},
    "The levels of single loggers, by the logger's name.",
)

_HERE: tuple[ConfigOption[Any], ...] = tuple(
    value
    for value in (
        *list(globals().values()),
        *vars(dependencies).values(),
        *vars(metric_reporters).values(),
    )
    if isinstance(value, ConfigOption) and metric_reporters.NAME not in value.key
)

OPTIONS: dict[str, ConfigOption[Any]] = {
    key: option
    for option in (*_HERE, *TABLE_OPTIONS, *WITHOUT_EFFECT)
    for key in (option.key, *option.fallback_keys)
}
"""All options by key and by older names of the key."""

LOG_LEVEL_PREFIX = f"{LOG_LEVEL.key}."

PREFIXES: dict[str, str] = {
    LOG_LEVEL_PREFIX: "The level of the logger whose name is the rest of the key.",
    SPARK_CONF_PREFIX: "The rest of the key is set in the Spark session.",
    "orc.": "For `writer_properties` of `OrcBulkWriters.for_row_type`; no effect on a job.",
    **{prefix: f"No effect: {why}." for prefix, why in PREFIXES_WITHOUT_EFFECT.items()},
}
"""The beginnings of keys with a free part, and what such keys do."""


class Settings(Protocol):
    """Settings by key: a ``Configuration``."""

    def value_of(self, key: str) -> Any | None:
        """Return the value of ``key`` as the user set it, or None if it is not set."""


def read(configuration: Settings, option: ConfigOption[T]) -> T:
    """Return the parsed value of an option, or its default.

    Raises:
        ConfigurationError: the value does not parse.
    """
    for key in (option.key, *option.fallback_keys):
        value = configuration.value_of(key)
        if value is not None:
            return option.parse(value)
    return option.default


def find(key: str) -> ConfigOption[Any] | None:
    """Return the option of a key, or None: the key is unknown, has a free part, or no effect."""
    return OPTIONS.get(key) or metric_reporters.option_of(key)


def check(key: str, value: Any) -> None:
    """Check that a key is known and its value can be parsed.

    A key of Flink that has no effect prints a warning, once. A key that is known only by its
    prefix, and is similar to a key of Headrace, is an error.

    Raises:
        ConfigurationError: the key is unknown (the error names similar ones), or the value cannot
            be parsed.
    """
    option = find(key)
    if option is not None:
        option.parse(value)
    elif any(key.startswith(prefix) and key != prefix for prefix in PREFIXES):
        return
    elif flink_keys.is_flink_key(key) and (
        key in flink_keys.names() or not difflib.get_close_matches(key, OPTIONS, 1, 0.9)
    ):
        flink_keys.warn_once(key)
    else:
        raise ConfigurationError(f"{key!r} is not a known key", hint=_find_nearest(key))


def spark_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings under ``headrace.spark.conf.``, with their names in Spark."""
    return {
        key.removeprefix(SPARK_CONF_PREFIX): text_of(value)
        for key, value in settings.items()
        if key.startswith(SPARK_CONF_PREFIX)
    }


def log_levels(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the levels of loggers by name, that of the root logger by the empty name.

    Raises:
        ConfigurationError: a value is not a level.
    """
    configuration = _Given(settings)
    root = read(configuration, LOG_LEVEL)
    overrides: dict[str, str] = read(configuration, LOG_LEVELS)
    levels = {"": root} if root is not None else {}
    single = {
        **overrides,
        **{
            key.removeprefix(LOG_LEVEL_PREFIX): text_of(value)
            for key, value in settings.items()
            if key.startswith(LOG_LEVEL_PREFIX)
        },
    }
    return {**levels, **{name: LOG_LEVEL.parse(level) or "" for name, level in single.items()}}


class _Given(dict[str, Any]):
    """Settings in a mapping."""

    def value_of(self, key: str) -> Any | None:
        return self.get(key)


def _find_nearest(key: str) -> str:
    if key.startswith("spark."):
        return f"Spark's settings are given as {SPARK_CONF_PREFIX}{key}"
    known = [*OPTIONS, *PREFIXES]
    name, dot, _ = key.removeprefix(metric_reporters.REPORTER_PREFIX).partition(".")
    if dot and key.startswith(metric_reporters.REPORTER_PREFIX):
        before = f"{metric_reporters.REPORTER_PREFIX}{name}."
        known = [f"{before}{rest}" for rest in metric_reporters.REPORTER_OPTIONS]
    near = difflib.get_close_matches(key.lower(), known, n=3, cutoff=0.6)
    closest = difflib.get_close_matches(key.lower(), flink_keys.names(), n=1, cutoff=0.85)
    near = [*near, *(name for name in closest if name not in near)]
    if not near:  # a key written from memory often has the right last part and a wrong path
        last = key.lower().rpartition(".")[2]
        near = [candidate for candidate in known if last and last in candidate.split(".")][:3]
    if near:
        return f"did you mean {', or '.join(near)}?"
    return (
        "job parameters go into pipeline.global-job-parameters "
        "(env.get_config().set_global_job_parameters)"
    )
