"""Redis: a sink that writes exactly once, and a lookup."""

from headrace.datastream.connectors._redis.command import RedisCommand
from headrace.datastream.connectors._redis.lookup import RedisLookup
from headrace.datastream.connectors._redis.sink import RedisSink

__all__ = ["RedisCommand", "RedisLookup", "RedisSink"]
