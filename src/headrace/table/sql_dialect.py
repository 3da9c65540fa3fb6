"""``SqlDialect``: which language statements are in."""

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """DEFAULT is Flink's; HIVE is not supported."""

    DEFAULT = 0
    HIVE = 1
