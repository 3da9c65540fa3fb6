"""Flink SQL: everything in the JVM but the way to Redis.

Flink has no connector for Redis. Campaigns are read when the job starts, into a file that is the
table of an event-time temporal join: a plain join would lose the event time that the windows need.
Results, a few hundred rows a second at most, go through Python, each hundred or after 20 ms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import redis
from pyflink.table import StreamTableEnvironment

from bench.peers import flink
from bench.ysb.asked import Asked, asked
from bench.ysb.events import AD_IDS, CAMPAIGNS, VIEW, WINDOW_MS
from bench.ysb.peers.flink_job import RESULT, Written, settings

EVENTS = """
CREATE TABLE events (
  ad_id STRING, event_type STRING, event_time STRING,
  `at` AS TO_TIMESTAMP_LTZ(CAST(event_time AS BIGINT), 3),
  WATERMARK FOR `at` AS `at` - INTERVAL '0.001' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{brokers}',
  'properties.group.id' = 'flink-sql', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
)"""
KNOWN = """
CREATE TABLE campaigns (
  ad STRING, campaign STRING,
  since AS TO_TIMESTAMP_LTZ(0, 3), WATERMARK FOR since AS since, PRIMARY KEY (ad) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
JOINED = f"""
CREATE TEMPORARY VIEW joined AS
SELECT campaign, `at` FROM (SELECT ad_id, `at` FROM events WHERE event_type = '{VIEW}') AS v
JOIN campaigns FOR SYSTEM_TIME AS OF v.`at` ON v.ad_id = campaigns.ad"""
COUNTED = f"""
SELECT campaign, UNIX_TIMESTAMP(DATE_FORMAT(window_start, 'yyyy-MM-dd HH:mm:ss')) * 1000, COUNT(*)
FROM TUMBLE(TABLE joined, DESCRIPTOR(`at`), INTERVAL '{WINDOW_MS // 1000}' SECOND)
GROUP BY window_start, window_end, campaign"""


def known(task: Asked) -> Path:
    """The file with the campaigns that Redis holds."""
    client = redis.Redis.from_url(task.redis, decode_responses=True)
    rows = zip(AD_IDS, client.mget(AD_IDS), strict=True)
    path = task.path / "campaigns.csv"
    path.write_text("".join(f"{ad},{campaign}\n" for ad, campaign in rows))
    return path


def build(env: Any, task: Asked) -> None:
    """Put the job into the environment."""
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(EVENTS.format(topic=task.topic, brokers=task.brokers))
    tables.execute_sql(KNOWN.format(path=known(task).as_uri()))
    tables.execute_sql(JOINED)
    results = tables.to_data_stream(tables.sql_query(COUNTED))
    results.map(Written(task.redis), RESULT).print()


def main() -> None:
    task = asked()
    flink.use_this_python()
    own = {
        "table.local-time-zone": "UTC",
        "python.fn-execution.bundle.size": str(CAMPAIGNS),
        "python.fn-execution.bundle.time": "20",
    }
    env = flink.environment({**settings(task), **own})
    build(env, task)
    env.execute("ysb")


if __name__ == "__main__":
    main()
