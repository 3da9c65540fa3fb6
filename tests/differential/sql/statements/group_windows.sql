-- The old windows in GROUP BY.

-- case: tumble
-- order: bag
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, TUMBLE_END(ts, INTERVAL '10' SECOND) AS e,
  COUNT(*) AS n
FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_by_key
-- order: bag
SELECT name, TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, SUM(v) AS v, AVG(v) AS a
FROM clicks GROUP BY name, TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_rowtime
-- order: bag
SELECT TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND) AS rt, COUNT(*) AS n
FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_schema
-- show: schema
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND), TUMBLE_END(ts, INTERVAL '10' SECOND),
  TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND), TUMBLE_PROCTIME(ts, INTERVAL '10' SECOND), COUNT(*)
FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_no_window_column
-- order: bag
SELECT COUNT(*) AS n FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_late
-- order: bag
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_late_allowed
-- mode: streaming
-- set: table.exec.emit.allow-lateness = 10 s
-- order: bag
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_late_fire
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 0 s
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_early_fire
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n
FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_distinct
-- order: bag
SELECT TUMBLE_END(ts, INTERVAL '10' SECOND) AS e, COUNT(DISTINCT v) AS d, COUNT(DISTINCT name) AS u
FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: tumble_having
-- order: bag
SELECT name, TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n
FROM clicks GROUP BY name, TUMBLE(ts, INTERVAL '10' SECOND) HAVING COUNT(*) > 1;

-- case: tumble_offset
-- order: bag
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND, TIME '00:00:03') AS s, COUNT(*) AS n
FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND, TIME '00:00:03');

-- case: tumble_start_of_other_size
SELECT TUMBLE_START(ts, INTERVAL '5' SECOND) AS s, COUNT(*) AS n
FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: hop
-- order: bag
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS s,
  HOP_END(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS e, COUNT(*) AS n, SUM(v) AS v
FROM clicks GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- case: hop_by_key
-- order: bag
SELECT name, HOP_START(ts, INTERVAL '10' SECOND, INTERVAL '30' SECOND) AS s, COUNT(*) AS n
FROM clicks GROUP BY name, HOP(ts, INTERVAL '10' SECOND, INTERVAL '30' SECOND);

-- case: hop_not_divisible
-- order: bag
SELECT HOP_START(ts, INTERVAL '4' SECOND, INTERVAL '10' SECOND) AS s, COUNT(*) AS n
FROM clicks GROUP BY HOP(ts, INTERVAL '4' SECOND, INTERVAL '10' SECOND);

-- case: hop_late
-- order: bag
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '20' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '20' SECOND);

-- case: session
-- order: bag
SELECT SESSION_START(ts, INTERVAL '4' SECOND) AS s, SESSION_END(ts, INTERVAL '4' SECOND) AS e,
  COUNT(*) AS n
FROM clicks GROUP BY SESSION(ts, INTERVAL '4' SECOND);

-- case: session_by_key
-- order: bag
SELECT name, SESSION_START(ts, INTERVAL '5' SECOND) AS s, SESSION_END(ts, INTERVAL '5' SECOND) AS e,
  SESSION_ROWTIME(ts, INTERVAL '5' SECOND) AS rt, COUNT(*) AS n, SUM(v) AS v
FROM clicks GROUP BY name, SESSION(ts, INTERVAL '5' SECOND);

-- case: session_late
-- order: bag
SELECT name, SESSION_START(ts, INTERVAL '6' SECOND) AS s, SESSION_END(ts, INTERVAL '6' SECOND) AS e,
  COUNT(*) AS n
FROM late_clicks GROUP BY name, SESSION(ts, INTERVAL '6' SECOND);

-- case: over_changelog
-- mode: streaming
-- order: bag
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
SELECT TUMBLE_START(ts, INTERVAL '5' SECOND) AS s, k, COUNT(*) AS n, SUM(v) AS v
FROM changes_ts GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND);

-- case: cascade
-- order: bag
SELECT TUMBLE_START(rt, INTERVAL '20' SECOND) AS s, SUM(n) AS n
FROM (SELECT TUMBLE_ROWTIME(ts, INTERVAL '5' SECOND) AS rt, COUNT(*) AS n
  FROM clicks GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)) AS t
GROUP BY TUMBLE(rt, INTERVAL '20' SECOND);

-- case: ltz_berlin
-- order: bag
-- set: table.local-time-zone = Europe/Berlin
SELECT TUMBLE_START(ts, INTERVAL '1' DAY) AS s, TUMBLE_END(ts, INTERVAL '1' DAY) AS e, COUNT(*) AS n
FROM clicks_ltz GROUP BY TUMBLE(ts, INTERVAL '1' DAY);

-- case: start_without_window
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) FROM clicks;

-- case: window_in_where
SELECT COUNT(*) FROM clicks
WHERE TUMBLE_START(ts, INTERVAL '10' SECOND) > TIMESTAMP '2026-01-01 00:00:00'
GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: two_windows
SELECT COUNT(*) FROM clicks
GROUP BY TUMBLE(ts, INTERVAL '10' SECOND), TUMBLE(ts, INTERVAL '5' SECOND);

-- case: on_plain_timestamp
SELECT COUNT(*) FROM kinds GROUP BY TUMBLE(ts, INTERVAL '1' DAY);

-- case: on_text
SELECT COUNT(*) FROM clicks GROUP BY TUMBLE(name, INTERVAL '10' SECOND);

-- case: session_bridge
-- order: bag
SELECT name, SESSION_START(ts, INTERVAL '5' SECOND) AS s, SESSION_END(ts, INTERVAL '5' SECOND) AS e,
  COUNT(*) AS n, SUM(v) AS v, MAX(v) AS hi
FROM bridges GROUP BY name, SESSION(ts, INTERVAL '5' SECOND);

-- case: session_early_fire
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: by name
SELECT name, SESSION_START(ts, INTERVAL '5' SECOND) AS s, COUNT(*) AS n
FROM bridges GROUP BY name, SESSION(ts, INTERVAL '5' SECOND);

-- case: hop_ltz_berlin
-- mode: streaming
-- order: bag
-- set: table.local-time-zone = Europe/Berlin
SELECT HOP_START(ts, INTERVAL '6' HOUR, INTERVAL '12' HOUR) AS s, COUNT(*) AS n
FROM clicks_ltz GROUP BY HOP(ts, INTERVAL '6' HOUR, INTERVAL '12' HOUR);

-- case: session_over_changelog
-- mode: streaming
-- order: bag
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
SELECT SESSION_START(ts, INTERVAL '2' SECOND) AS s, COUNT(*) AS n
FROM changes_ts GROUP BY SESSION(ts, INTERVAL '2' SECOND);

-- case: tumble_of_microseconds
-- mode: batch
SELECT TUMBLE_START(t, INTERVAL '10' SECOND) AS s, SUM(v) AS v
FROM (SELECT v, CAST(ts AS TIMESTAMP(6)) AS t FROM clicks) AS c
GROUP BY TUMBLE(t, INTERVAL '10' SECOND);
