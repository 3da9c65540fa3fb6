"""Keys of the Table API and SQL."""

from __future__ import annotations

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
    "How long the state of a key of GROUP BY is kept after its last change, by processing time."
    " 0: without end. The hint STATE_TTL says so for one query.",
)

TABLE_OPTIONS = (TIME_ZONE, MINI_BATCH, STATE_TTL)
