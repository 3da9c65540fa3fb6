"""Redis: a sink that writes exactly once, and a lookup."""

from headrace.datastream.connectors.redis.command import RedisCommand
from headrace.datastream.connectors.redis.lookup import RedisLookup
from headrace.datastream.connectors.redis.sink import RedisSink

__all__ = ["RedisCommand", "RedisLookup", "RedisSink"]
