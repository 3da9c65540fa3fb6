-- Window table functions. A watermark follows every row, so that lateness is the same each time;
-- windows of one end fire in an order between keys that is Flink's own.

-- case: tumble
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_by_key
-- order: bag
SELECT window_start, window_end, name, COUNT(*) AS n, SUM(v) AS s, AVG(v) AS a
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name;

-- case: tumble_keys_in_other_order
-- order: bag
SELECT name, window_end, MAX(v) AS m, window_start
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY name, window_start, window_end;

-- case: tumble_named_arguments
-- order: bag
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(DATA => TABLE clicks, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_offset
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_negative_offset
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '-3' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_day
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

-- case: tumble_day_with_offset
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '8' HOUR))
GROUP BY window_start, window_end;

-- case: tumble_rows
-- note: no aggregate: each row with its window
SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: tumble_rows_some_columns
SELECT id, window_start, window_end, window_time
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) WHERE v > 10;

-- case: tumble_window_time
-- order: bag
SELECT window_time, window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, window_time;

-- case: tumble_only_start
-- note: without window_end it is a plain aggregate, with updates
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start;

-- case: tumble_only_end
SELECT window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_end;

-- case: tumble_only_time
SELECT window_time, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_time;

-- case: tumble_by_key_without_window
SELECT name, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY name;

-- case: tumble_having
-- order: bag
SELECT window_start, name, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name HAVING COUNT(*) > 1;

-- case: tumble_filter_before
-- order: bag
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
WHERE v > 10 GROUP BY window_start, window_end;

-- case: tumble_filter_on_window
-- order: bag
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
WHERE window_start >= TIMESTAMP '2026-01-01 00:00:20'
GROUP BY window_start, window_end;

-- case: tumble_distinct
-- order: bag
SELECT window_start, COUNT(DISTINCT v) AS d, COUNT(DISTINCT name) AS u, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_filter_clause
-- order: bag
SELECT window_start, COUNT(*) FILTER (WHERE v > 10) AS n, SUM(v) FILTER (WHERE name = 'ann') AS s,
  COUNT(DISTINCT v) FILTER (WHERE name = 'bob') AS d
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_many_aggregates
-- mode: streaming
-- order: bag
SELECT window_start, MIN(v), MAX(v), FIRST_VALUE(v), LAST_VALUE(v), LISTAGG(name), STDDEV_POP(v)
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_collect
-- mode: streaming
-- order: bag
SELECT window_start, COLLECT(v) AS c, ARRAY_AGG(name) AS a
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_expression_key
-- order: bag
SELECT window_start, CHAR_LENGTH(name) AS l, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, CHAR_LENGTH(name);

-- case: tumble_expression_of_window
-- order: bag
SELECT DATE_FORMAT(window_start, 'HH:mm:ss') AS t, COUNT(*) + 1 AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_distinct_rows
-- order: bag
SELECT DISTINCT window_start, window_end, name
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: tumble_no_aggregate_group
-- order: bag
SELECT window_start, window_end, name
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name;

-- case: tumble_grouping_sets
-- order: bag
SELECT window_start, name, COUNT(*) AS n, GROUPING(name) AS g
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, GROUPING SETS ((name), ());

-- case: tumble_rollup
-- order: bag
SELECT window_start, name, v > 10 AS big, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '30' SECOND))
GROUP BY window_start, window_end, ROLLUP (name, v > 10);

-- case: tumble_cube
-- order: bag
SELECT window_start, name, v > 10 AS big, COUNT(*) AS n, GROUPING_ID(name, v > 10) AS g
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '30' SECOND))
GROUP BY window_start, window_end, CUBE (name, v > 10);

-- case: tumble_late
-- order: bag
-- note: a row whose window has fired is dropped
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_late_by_key
-- mode: streaming
-- order: bag
SELECT window_start, name, COUNT(*) AS n, LISTAGG(CAST(id AS STRING)) AS ids
FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name;

-- case: tumble_late_rows_pass_without_aggregate
SELECT id, window_start FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: tumble_null_time
-- order: bag
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE null_times, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_empty_input
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(
  (SELECT * FROM clicks WHERE id > 100), DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_over_subquery
-- order: bag
SELECT window_start, who, SUM(w) AS s
FROM TABLE(TUMBLE(
  (SELECT UPPER(name) AS who, v * 2 AS w, ts FROM clicks WHERE v IS NOT NULL),
  DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, who;

-- case: tumble_over_view
-- order: bag
CREATE TEMPORARY VIEW big_clicks AS SELECT name, v, ts FROM clicks WHERE v > 10;
SELECT window_start, name, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE big_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name;

-- case: hop
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: hop_by_key
-- order: bag
SELECT window_start, window_end, name, COUNT(*) AS n, MAX(v) AS m
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND))
GROUP BY window_start, window_end, name;

-- case: hop_not_divisible
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: hop_with_gaps
-- order: bag
-- note: the slide is greater than the size
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '20' SECOND, INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: hop_offset
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(HOP(
  TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND, INTERVAL '1' SECOND))
GROUP BY window_start, window_end;

-- case: hop_rows
-- order: by id
SELECT id, window_start, window_end, window_time
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))
WHERE id < 6;

-- case: hop_distinct
-- order: bag
SELECT window_start, COUNT(DISTINCT v) AS d, COUNT(DISTINCT name) FILTER (WHERE v > 10) AS u
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: hop_min_max_first_last
-- order: bag
SELECT window_start, MIN(v), MAX(v), AVG(v), COUNT(v)
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))
GROUP BY window_start, window_end;

-- case: hop_first_value
-- mode: streaming
-- order: bag
SELECT window_start, FIRST_VALUE(v), LAST_VALUE(v), LISTAGG(name)
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: hop_late
-- order: bag
-- note: a row late for one of its windows still counts in another
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(HOP(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: hop_late_by_key
-- order: bag
SELECT window_start, window_end, name, SUM(v) AS s
FROM TABLE(HOP(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end, name;

-- case: hop_grouping_sets
-- order: bag
SELECT window_start, name, COUNT(*) AS n
FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end, GROUPING SETS ((name), ());

-- case: cumulate
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: cumulate_by_key
-- order: bag
SELECT window_start, window_end, name, COUNT(*) AS n, MAX(v) AS m
FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND))
GROUP BY window_start, window_end, name;

-- case: cumulate_offset
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(CUMULATE(
  TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND, INTERVAL '2' SECOND))
GROUP BY window_start, window_end;

-- case: cumulate_not_divisible
SELECT window_start, COUNT(*) AS n
FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '6' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: cumulate_rows
-- order: by id
SELECT id, window_start, window_end
FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))
WHERE id < 6;

-- case: cumulate_distinct
-- order: bag
SELECT window_start, window_end, COUNT(DISTINCT name) AS u, COUNT(DISTINCT v) AS d
FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: cumulate_late
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(CUMULATE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: session
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '4' SECOND))
GROUP BY window_start, window_end;

-- case: session_by_key
-- order: bag
SELECT window_start, window_end, name, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end, name;

-- case: session_key_not_partition
-- order: by window_start, window_end, name
-- note: sessions of all rows, grouped by name inside of them
SELECT window_start, window_end, name, COUNT(*) AS n
FROM TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end, name;

-- case: session_partition_not_key
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end;

-- case: session_gap_touches
-- order: bag
-- note: rows exactly a gap apart
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '12' SECOND))
GROUP BY window_start, window_end;

-- case: session_rows
-- order: bag
SELECT id, window_start, window_end
FROM TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '5' SECOND));

-- case: session_late
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, SUM(id) AS ids
FROM TABLE(SESSION(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '3' SECOND))
GROUP BY window_start, window_end;

-- case: session_late_by_key
-- order: bag
SELECT window_start, window_end, name, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(SESSION(TABLE late_clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '6' SECOND))
GROUP BY window_start, window_end, name;

-- case: session_distinct
-- order: bag
SELECT window_start, name, COUNT(DISTINCT v) AS d, MIN(v) AS lo, AVG(v) AS a
FROM TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '8' SECOND))
GROUP BY window_start, window_end, name;

-- case: session_filter_before
-- order: bag
-- note: a condition after the window function does not change the sessions
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '4' SECOND))
WHERE v > 10 GROUP BY window_start, window_end;

-- case: cascade_tumble
-- order: bag
SELECT window_start, window_end, SUM(n) AS n, COUNT(*) AS parts
FROM TABLE(TUMBLE(
  (SELECT window_time AS rt, name, COUNT(*) AS n
   FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))
   GROUP BY window_start, window_end, window_time, name),
  DESCRIPTOR(rt), INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: cascade_by_view
-- order: bag
CREATE VIEW w5 AS SELECT window_start AS s5, window_end AS e5, window_time AS rt, SUM(v) AS s
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end, window_time;
SELECT window_start, window_end, SUM(s) AS s, MAX(s) AS m
FROM TABLE(HOP(TABLE w5, DESCRIPTOR(rt), INTERVAL '10' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: cascade_same_window
-- order: bag
-- note: a second aggregate in the same window, by its columns
SELECT window_start, window_end, COUNT(*) AS names, MAX(n) AS m
FROM (SELECT window_start, window_end, name, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, name) AS t
GROUP BY window_start, window_end;

-- case: window_then_group
-- note: a plain aggregate over a window's answers; their order between names decides
-- order: folded
SELECT name, COUNT(*) AS windows, MAX(n) AS m
FROM (SELECT window_start, window_end, name, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, name) AS t
GROUP BY name;

-- case: window_over_changelog
-- mode: streaming
-- note: rows that are taken back, in a window
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
SELECT window_start, window_end, k, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(TUMBLE(TABLE changes_ts, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end, k;

-- case: window_over_updating_query
-- mode: streaming
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(
  (SELECT ts, COUNT(*) AS n FROM clicks GROUP BY ts), DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: ltz_tumble_day_utc
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks_ltz, DESCRIPTOR(ts), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

-- case: ltz_tumble_day_berlin
-- order: bag
-- set: table.local-time-zone = Europe/Berlin
-- note: a day of 23 hours: summer time begins on the 29th
SELECT window_start, window_end, window_time, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks_ltz, DESCRIPTOR(ts), INTERVAL '1' DAY))
GROUP BY window_start, window_end, window_time;

-- case: ltz_tumble_hour_berlin
-- order: bag
-- set: table.local-time-zone = Europe/Berlin
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks_ltz, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

-- case: ltz_hop_new_york
-- order: bag
-- set: table.local-time-zone = America/New_York
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(HOP(TABLE clicks_ltz, DESCRIPTOR(ts), INTERVAL '6' HOUR, INTERVAL '12' HOUR))
GROUP BY window_start, window_end;

-- case: ltz_cumulate_berlin
-- order: bag
-- set: table.local-time-zone = Europe/Berlin
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(CUMULATE(TABLE clicks_ltz, DESCRIPTOR(ts), INTERVAL '6' HOUR, INTERVAL '1' DAY))
GROUP BY window_start, window_end;

-- case: ltz_session_berlin
-- order: bag
-- set: table.local-time-zone = Europe/Berlin
SELECT window_start, window_end, name, COUNT(*) AS n
FROM TABLE(SESSION(TABLE clicks_ltz PARTITION BY name, DESCRIPTOR(ts), INTERVAL '2' HOUR))
GROUP BY window_start, window_end, name;

-- case: ltz_rows_berlin
-- set: table.local-time-zone = Europe/Berlin
SELECT id, ts, CAST(ts AS STRING) AS s, window_start, window_time
FROM TABLE(TUMBLE(TABLE clicks_ltz, DESCRIPTOR(ts), INTERVAL '1' DAY));

-- case: schema_of_window_columns
-- show: schema
SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: schema_of_window_columns_ltz
-- show: schema
SELECT * FROM TABLE(HOP(
  TABLE clicks_ltz, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND));

-- case: schema_of_aggregate_with_time
-- show: schema
SELECT window_start, window_end, window_time, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, window_time;

-- case: schema_proctime_window
-- show: schema
CREATE TABLE p (k STRING, pt AS PROCTIME()) WITH (
  'connector' = 'filesystem', 'path' = '{data}/nothing.csv', 'format' = 'csv');
SELECT * FROM TABLE(TUMBLE(TABLE p, DESCRIPTOR(pt), INTERVAL '1' MINUTE));

-- case: schema_proctime_aggregate
-- show: schema
CREATE TABLE p (k STRING, pt AS PROCTIME()) WITH (
  'connector' = 'filesystem', 'path' = '{data}/nothing.csv', 'format' = 'csv');
SELECT window_start, window_time, k, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE p, DESCRIPTOR(pt), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, window_time, k;

-- case: window_on_plain_timestamp
-- note: not a time attribute
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE kinds, DESCRIPTOR(ts), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

-- case: window_rows_on_plain_timestamp
SELECT id, window_start FROM TABLE(TUMBLE(TABLE kinds, DESCRIPTOR(ts), INTERVAL '1' DAY));

-- case: window_on_changed_time
-- note: a time attribute is lost by any expression on it
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(
  (SELECT ts + INTERVAL '1' SECOND AS ts FROM clicks), DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: window_on_text
SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(name), INTERVAL '10' SECOND));

-- case: window_on_unknown_column
SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(nope), INTERVAL '10' SECOND));

-- case: window_of_no_size
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '0' SECOND))
GROUP BY window_start, window_end;

-- case: window_of_months
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MONTH))
GROUP BY window_start, window_end;

-- case: window_size_not_literal
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), 10))
GROUP BY window_start, window_end;

-- case: hop_one_argument_less
SELECT * FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: session_offset
SELECT window_start, COUNT(*) FROM TABLE(SESSION(
  TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_partition_by
-- note: PARTITION BY is for SESSION
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(
  TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: window_without_table
SELECT window_start, COUNT(*) FROM TUMBLE(clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)
GROUP BY window_start, window_end;

-- case: mini_batch
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 100
-- order: bag
SELECT window_start, name, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name;

-- case: one_phase
-- mode: streaming
-- set: table.optimizer.agg-phase-strategy = ONE_PHASE
-- order: bag
SELECT window_start, name, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name;

-- case: one_phase_hop
-- mode: streaming
-- set: table.optimizer.agg-phase-strategy = ONE_PHASE
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(HOP(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))
GROUP BY window_start, window_end;

-- case: early_fire
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 1 h
-- order: folded
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: session_bridge
-- order: bag
-- note: a row that joins two sessions
SELECT window_start, window_end, name, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi
FROM TABLE(SESSION(TABLE bridges PARTITION BY name, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end, name;

-- case: session_bridge_all
-- order: bag
SELECT window_start, window_end, COUNT(*) AS n, COUNT(DISTINCT name) AS names, AVG(v) AS a
FROM TABLE(SESSION(TABLE bridges, DESCRIPTOR(ts), INTERVAL '4' SECOND))
GROUP BY window_start, window_end;

-- case: session_bridge_rows
-- order: bag
SELECT id, window_start, window_end
FROM TABLE(SESSION(TABLE bridges PARTITION BY name, DESCRIPTOR(ts), INTERVAL '5' SECOND));

-- case: session_two_partition_columns
-- order: bag
SELECT window_start, window_end, name, v, COUNT(*) AS n
FROM TABLE(SESSION(TABLE clicks PARTITION BY (name, v), DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, name, v;

-- case: session_grouping_sets
-- order: bag
SELECT window_start, name, COUNT(*) AS n
FROM TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end, GROUPING SETS ((name), ());

-- case: window_over_changelog_min_max
-- mode: streaming
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
SELECT window_start, MIN(v) AS lo, MAX(v) AS hi, COUNT(DISTINCT k) AS d, AVG(v) AS a
FROM TABLE(TUMBLE(TABLE changes_ts, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end;

-- case: hop_over_changelog
-- mode: streaming
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
SELECT window_start, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(HOP(TABLE changes_ts, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '4' SECOND))
GROUP BY window_start, window_end;

-- case: session_over_changelog
-- mode: streaming
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
SELECT window_start, window_end, COUNT(*) AS n
FROM TABLE(SESSION(TABLE changes_ts, DESCRIPTOR(ts), INTERVAL '2' SECOND))
GROUP BY window_start, window_end;

-- case: window_rows_of_changelog
-- mode: streaming
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
SELECT id, k, v, window_start
FROM TABLE(TUMBLE(TABLE changes_ts, DESCRIPTOR(ts), INTERVAL '5' SECOND));

-- case: cascade_on_window_start
-- note: only window_time is a time attribute
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(
  (SELECT window_start AS ws, COUNT(*) AS n
   FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))
   GROUP BY window_start, window_end), DESCRIPTOR(ws), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: window_columns_in_expression_key
-- note: a key made of window_start is not the window
SELECT DATE_FORMAT(window_start, 'HH:mm') AS m, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY DATE_FORMAT(window_start, 'HH:mm');

-- case: window_start_and_end_renamed
-- order: bag
SELECT s, e, COUNT(*) AS n FROM (
  SELECT window_start AS s, window_end AS e, name
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '30' SECOND))) AS t
GROUP BY s, e;

-- case: constant_key_in_window
-- order: bag
SELECT window_start, 'all' AS what, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '30' SECOND))
GROUP BY window_start, window_end, 'all';

-- case: tumble_over_view_of_union
-- order: bag
-- note: given to TUMBLE itself, Flink 2.3 forgets all but the first part of a UNION ALL
CREATE TEMPORARY VIEW both_clicks AS
SELECT id, ts FROM clicks UNION ALL SELECT id, ts FROM clicks;
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE both_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: tumble_over_subquery_of_union
-- order: bag
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(
  (SELECT * FROM (SELECT id, ts FROM clicks UNION ALL SELECT id, ts FROM bridges) AS u),
  DESCRIPTOR(ts), INTERVAL '30' SECOND))
GROUP BY window_start, window_end;

-- case: distinct_of_cumulate_start
-- order: bag
SELECT DISTINCT n, s FROM (SELECT window_start AS s, COUNT(*) AS n FROM TABLE(
  CUMULATE(TABLE bridges, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '5' SECOND))
  GROUP BY window_start, window_end);

-- case: sum_by_cumulate_start
-- order: folded
SELECT s, SUM(n) AS n FROM (SELECT window_start AS s, COUNT(*) AS n FROM TABLE(
  CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY window_start, window_end) GROUP BY s;

-- case: unread_last_value_in_cumulate
-- order: bag
SELECT window_start, window_end, MAX(m) AS m FROM (SELECT window_start, window_end, name, MAX(v) AS m,
  LAST_VALUE(v) AS l FROM TABLE(
  CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, name) GROUP BY window_start, window_end;
