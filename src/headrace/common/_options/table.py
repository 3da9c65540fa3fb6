"""Keys of the Table API and SQL."""

from __future__ import annotations

from typing import Any, Literal

from headrace.common._options.option import ConfigOption
from headrace.common._options.values import ValueKind

TIME_ZONE: ConfigOption[str] = ConfigOption(
    "table.local-time-zone",
    ValueKind.TIME_ZONE,
    "UTC",
    "The time zone in which a TIMESTAMP_LTZ is read and printed.",
)
MINI_BATCH: ConfigOption[bool] = ConfigOption(
    "table.exec.mini-batch.enabled",
    ValueKind.BOOLEAN,
    False,
    "Whether a micro-batch gives only the last change of each key of GROUP BY, and rows are"
    " aggregated by key before they are sent. If false, each row gives its own change.",
)
STATE_TTL: ConfigOption[int] = ConfigOption(
    "table.exec.state.ttl",
    ValueKind.DURATION,
    0,
    "How long the state of a key is kept after its last change, by processing time. 0: without end."
    " The hint STATE_TTL sets it for the aggregations of one SELECT.",
)
EARLY_FIRE: ConfigOption[bool] = ConfigOption(
    "table.exec.emit.early-fire.enabled",
    ValueKind.BOOLEAN,
    False,
    "Whether the windows of GROUP BY TUMBLE and HOP also give results before their end.",
)
EARLY_FIRE_DELAY: ConfigOption[int | None] = ConfigOption(
    "table.exec.emit.early-fire.delay",
    ValueKind.DURATION,
    None,
    "How often a window gives a result before its end, by processing time; 0: with each row.",
)
LATE_FIRE: ConfigOption[bool] = ConfigOption(
    "table.exec.emit.late-fire.enabled",
    ValueKind.BOOLEAN,
    False,
    "Whether the windows of GROUP BY TUMBLE and HOP accept late rows, and give their result again.",
)
LATE_FIRE_DELAY: ConfigOption[int | None] = ConfigOption(
    "table.exec.emit.late-fire.delay",
    ValueKind.DURATION,
    None,
    "How often a window with late rows gives a result, by processing time; 0: with each row.",
)
ALLOW_LATENESS: ConfigOption[int | None] = ConfigOption(
    "table.exec.emit.allow-lateness",
    ValueKind.DURATION,
    None,
    "How long after its end a window accepts late rows, if late-fire is enabled. If it is not set,"
    " the time is table.exec.state.ttl.",
)
DUPLICATES: ConfigOption[bool] = ConfigOption(
    "table.exec.source.cdc-events-duplicate",
    ValueKind.BOOLEAN,
    False,
    "Whether sources of changes may deliver a change twice. If so, their tables need a primary"
    " key, and the last row of each key is kept as state.",
)
SOURCE_IDLE_TIMEOUT: ConfigOption[int] = ConfigOption(
    "table.exec.source.idle-timeout",
    ValueKind.DURATION,
    0,
    "The watermark of a table does not wait for a split that had no rows for this long. 0: it"
    " always waits. A table's option scan.watermark.idle-timeout takes precedence.",
)
DYNAMIC_OPTIONS: ConfigOption[bool] = ConfigOption(
    "table.dynamic-table-options.enabled",
    ValueKind.BOOLEAN,
    True,
    "Whether the hint OPTIONS may change the options of a table in one statement.",
)
NOT_NULL_ENFORCER: ConfigOption[str] = ConfigOption(
    "table.exec.sink.not-null-enforcer",
    ValueKind.CHOICE,
    "ERROR",
    "What happens to a row with NULL in a column that is NOT NULL: the job fails (ERROR), or the"
    " row is dropped, and counted in numNullRecordsDropped (DROP).",
    choices=("ERROR", "DROP"),
)
UPSERT_MATERIALIZE: ConfigOption[Literal["AUTO", "NONE", "FORCE"]] = ConfigOption(
    "table.exec.sink.upsert-materialize",
    ValueKind.CHOICE,
    "AUTO",
    "Whether all rows of a sink's primary key are kept as state, so that the previous row is"
    " written again when the last one is removed: if ON CONFLICT DO DEDUPLICATE needs it (AUTO),"
    " never (NONE) or always (FORCE).",
    choices=("AUTO", "NONE", "FORCE"),
)

ASYNC_CALLS: ConfigOption[int] = ConfigOption(
    "table.exec.async-scalar.max-concurrent-operations",
    ValueKind.INT,
    10,
    "How many calls of an asynchronous function a task makes at once.",
    fallback_keys=("table.exec.async-scalar.buffer-capacity",),
)
ASYNC_TIMEOUT: ConfigOption[int] = ConfigOption(
    "table.exec.async-scalar.timeout",
    ValueKind.DURATION,
    180_000,
    "How long an asynchronous function may take for a row, with all attempts. Then the job fails.",
)
ASYNC_RETRY_STRATEGY: ConfigOption[Literal["FIXED_DELAY", "NO_RETRY"]] = ConfigOption(
    "table.exec.async-scalar.retry-strategy",
    ValueKind.CHOICE,
    "FIXED_DELAY",
    "Whether an asynchronous function is called again after an exception (FIXED_DELAY).",
    choices=("FIXED_DELAY", "NO_RETRY"),
)
ASYNC_RETRY_DELAY: ConfigOption[int] = ConfigOption(
    "table.exec.async-scalar.retry-delay",
    ValueKind.DURATION,
    100,
    "How long to wait before an asynchronous function is called again.",
)
ASYNC_RETRIES: ConfigOption[int] = ConfigOption(
    "table.exec.async-scalar.max-attempts",
    ValueKind.INT,
    3,
    "How often an asynchronous function is called again for a row. Then its exception fails the"
    " job.",
)

DML_SYNC: ConfigOption[bool] = ConfigOption(
    "table.dml-sync",
    ValueKind.BOOLEAN,
    False,
    "Whether an INSERT waits for the end of its job. If false, it returns when its job starts.",
)
RESULT_MODE: ConfigOption[str] = ConfigOption(
    "sql-client.execution.result-mode",
    ValueKind.CHOICE,
    "TABLE",
    "How `headrace sql` shows the rows of a query in a terminal: as a table that changes in place,"
    " as the changes themselves (CHANGELOG), or line by line (TABLEAU).",
    choices=("TABLE", "CHANGELOG", "TABLEAU"),
)
MAX_TABLE_ROWS: ConfigOption[int] = ConfigOption(
    "sql-client.execution.max-table-result.rows",
    ValueKind.INT,
    1_000_000,
    "How many rows `headrace sql` keeps of a result in the mode TABLE. Older rows are dropped.",
)
VERBOSE: ConfigOption[bool] = ConfigOption(
    "sql-client.verbose",
    ValueKind.BOOLEAN,
    False,
    "Whether `headrace sql` prints errors with their tracebacks.",
)
MAX_COLUMN_WIDTH: ConfigOption[int] = ConfigOption(
    "table.display.max-column-width",
    ValueKind.INT,
    30,
    "The greatest width of a printed column of text. A longer text is cut, and ends with dots.",
    fallback_keys=("sql-client.display.max-column-width",),
)
CATALOG_STORE: ConfigOption[str] = ConfigOption(
    "table.catalog-store.kind",
    ValueKind.CHOICE,
    "generic_in_memory",
    "Where the options of CREATE CATALOG are kept: in memory, for this session, or in"
    " table.catalog-store.file.path (file), for later sessions too. It is read when an environment"
    " is created.",
    choices=("generic_in_memory", "file"),
)
CATALOG_STORE_PATH: ConfigOption[str | None] = ConfigOption(
    "table.catalog-store.file.path",
    ValueKind.STRING,
    None,
    "The folder of the catalog store (file). It has one file for each catalog, with its options.",
)
CATALOG_NAME: ConfigOption[str] = ConfigOption(
    "table.builtin-catalog-name",
    ValueKind.STRING,
    "default_catalog",
    "The name of the catalog in memory that a new environment has.",
)
DATABASE_NAME: ConfigOption[str] = ConfigOption(
    "table.builtin-database-name",
    ValueKind.STRING,
    "default_database",
    "The name of the database that the catalog in memory has at first.",
)
CATALOG_OPTIONS: tuple[ConfigOption[str | None], ...] = tuple(
    ConfigOption(
        key, ValueKind.STRING, None, f"{what}, in the configuration of a CatalogDescriptor."
    )
    for key, what in (
        ("type", "The type of a catalog"),
        ("path", "The file of a catalog of the type file"),
        ("default-database", "The database of a catalog that is current after USE CATALOG"),
    )
)

TABLE_OPTIONS: tuple[ConfigOption[Any], ...] = (
    *CATALOG_OPTIONS,
    CATALOG_NAME,
    DATABASE_NAME,
    CATALOG_STORE,
    CATALOG_STORE_PATH,
    TIME_ZONE,
    MINI_BATCH,
    STATE_TTL,
    EARLY_FIRE,
    EARLY_FIRE_DELAY,
    LATE_FIRE,
    LATE_FIRE_DELAY,
    ALLOW_LATENESS,
    DUPLICATES,
    SOURCE_IDLE_TIMEOUT,
    DYNAMIC_OPTIONS,
    NOT_NULL_ENFORCER,
    UPSERT_MATERIALIZE,
    ASYNC_CALLS,
    ASYNC_TIMEOUT,
    ASYNC_RETRY_STRATEGY,
    ASYNC_RETRY_DELAY,
    ASYNC_RETRIES,
    DML_SYNC,
    RESULT_MODE,
    MAX_TABLE_ROWS,
    VERBOSE,
    MAX_COLUMN_WIDTH,
)
