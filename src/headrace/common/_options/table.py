"""Keys of the Table API and SQL."""

from __future__ import annotations

from typing import Literal

from headrace.common._options.option import ConfigOption
from headrace.common._options.values import ValueKind

TIME_ZONE: ConfigOption[str] = ConfigOption(
    "table.local-time-zone",
    ValueKind.STRING,
    "UTC",
    "The time zone in which a TIMESTAMP_LTZ is read and printed; default is UTC.",
)
MINI_BATCH: ConfigOption[bool] = ConfigOption(
    "table.exec.mini-batch.enabled",
    ValueKind.BOOLEAN,
    False,
    "Whether GROUP BY gives the last change of each key in a micro-batch only, and rows are put"
    " together before they are sent. If false, each row gives its change.",
)
STATE_TTL: ConfigOption[int] = ConfigOption(
    "table.exec.state.ttl",
    ValueKind.DURATION,
    0,
    "How long the state of a key is kept after its last change. Only 0 is supported: without end.",
)
DUPLICATES: ConfigOption[bool] = ConfigOption(
    "table.exec.source.cdc-events-duplicate",
    ValueKind.BOOLEAN,
    False,
    "Whether sources of changes may give a change twice. If so, their tables need a primary key,"
    " and the last row of each key is kept.",
)
NOT_NULL_ENFORCER: ConfigOption[str] = ConfigOption(
    "table.exec.sink.not-null-enforcer",
    ValueKind.CHOICE,
    "ERROR",
    "What happens to a row with NULL in a column that is NOT NULL: the job fails (ERROR), or the"
    " row is left out, and counted in numNullRecordsDropped (DROP).",
    choices=("ERROR", "DROP"),
)
UPSERT_MATERIALIZE: ConfigOption[Literal["AUTO", "NONE", "FORCE"]] = ConfigOption(
    "table.exec.sink.upsert-materialize",
    ValueKind.CHOICE,
    "AUTO",
    "Whether all rows of a sink's primary key are kept, so that the one before is there again when"
    " the last one is taken back: where ON CONFLICT DO DEDUPLICATE needs it (AUTO), never (NONE) or"
    " always (FORCE).",
    choices=("AUTO", "NONE", "FORCE"),
)

TABLE_OPTIONS = (
    TIME_ZONE,
    MINI_BATCH,
    STATE_TTL,
    DUPLICATES,
    NOT_NULL_ENFORCER,
    UPSERT_MATERIALIZE,
)
