-- Time attributes, windows by processing time, and early and late results.

-- case: of_a_table
-- show: schema
SELECT * FROM timed;

-- case: describe_table
DESCRIBE timed;

-- case: describe_view
CREATE TEMPORARY VIEW seen AS SELECT id, pt, ts AS moment FROM timed;
DESCRIBE seen;

-- case: through_a_view
-- show: schema
CREATE TEMPORARY VIEW seen AS SELECT pt AS p, v FROM timed WHERE v > 1;
SELECT p, v FROM seen;

-- case: through_a_subquery
-- show: schema
SELECT q.p, q.w FROM (SELECT pt AS p, ts AS w, id FROM timed WHERE v > 1) AS q WHERE id > 2;

-- case: casts_of_proctime
-- show: schema
SELECT CAST(pt AS TIMESTAMP_LTZ(3)) AS a, CAST(pt AS TIMESTAMP(3)) AS b, CAST(pt AS TIMESTAMP_LTZ(6)) AS c,
  TRY_CAST(pt AS TIMESTAMP_LTZ(3)) AS d FROM timed;

-- case: casts_of_rowtime
-- show: schema
SELECT CAST(ts AS TIMESTAMP(3)) AS a, CAST(ts AS TIMESTAMP(6)) AS b, TRY_CAST(ts AS TIMESTAMP(3)) AS c FROM timed;

-- case: intervals
-- show: schema
SELECT pt + INTERVAL '1' SECOND AS a, pt - INTERVAL '1' MONTH AS b, ts + INTERVAL '1' SECOND AS c,
  ts - INTERVAL '1' MONTH AS d, INTERVAL '1' SECOND + ts AS e, TIMESTAMPADD(MINUTE, 1, ts) AS f,
  TIMESTAMPADD(MINUTE, 1, pt) AS g FROM timed;

-- case: conditionals
-- show: schema
SELECT COALESCE(pt, pt) AS a, COALESCE(ts, ts) AS b, CASE WHEN id > 1 THEN ts ELSE ts END AS c,
  CASE WHEN id > 1 THEN pt ELSE pt END AS d, IF(id > 1, ts, ts) AS e, NULLIF(ts, ts) AS f, IFNULL(ts, ts) AS g
FROM timed;

-- case: conditional_and_plain
-- show: schema
SELECT CASE WHEN id > 1 THEN ts ELSE TIMESTAMP '2026-01-01 00:00:00.000' END AS a,
  COALESCE(ts, TIMESTAMP '2026-01-01 00:00:00.000') AS b, COALESCE(TIMESTAMP '2026-01-01 00:00:00.000', ts) AS c
FROM timed;

-- case: greatest
-- show: schema
SELECT GREATEST(ts, ts) AS a, LEAST(ts, TIMESTAMP '2026-01-01 00:00:00.000') AS b, GREATEST(pt, pt) AS c FROM timed;

-- case: rounded
-- show: schema
SELECT FLOOR(ts TO MINUTE) AS a, CEIL(pt TO MINUTE) AS b, FLOOR(pt TO MINUTE) AS c FROM timed;

-- case: in_parts
-- show: schema
SELECT ROW(ts, pt) AS a, ARRAY[ts] AS b, ARRAY[pt] AS c, MAP['a', ts] AS d FROM timed;

-- case: fields_of_row
-- show: schema
SELECT r.a AS a, r.b AS b FROM (SELECT CAST(ROW(ts, pt) AS ROW<a TIMESTAMP(3), b TIMESTAMP_LTZ(3)>) AS r FROM timed);

-- case: from_parts
-- show: schema
SELECT r[1] AS a FROM (SELECT ARRAY[ts] AS r FROM timed);

-- case: of_functions
-- show: schema
SELECT DATE_FORMAT(pt, 'yyyy') AS a, EXTRACT(HOUR FROM pt) AS b, pt IS NULL AS c, pt > CURRENT_TIMESTAMP AS d,
  ts > CAST(pt AS TIMESTAMP(3)) AS e, UNIX_TIMESTAMP() > 0 AS f FROM timed;

-- case: calls
-- show: schema
SELECT PROCTIME() AS a, CURRENT_ROW_TIMESTAMP() AS b, CURRENT_TIMESTAMP AS c;

-- case: calls_in_values
-- show: schema
SELECT * FROM (VALUES (1, PROCTIME())) AS t(a, b);

-- case: plus_call
-- show: schema
SELECT PROCTIME() + INTERVAL '1' HOUR AS a, COALESCE(PROCTIME(), PROCTIME()) AS b, CAST(PROCTIME() AS STRING) IS NULL AS c
FROM timed;

-- case: aggregates_of_rowtime
-- mode: streaming
-- show: schema
SELECT MAX(ts) AS a, MIN(ts) AS b, FIRST_VALUE(ts) AS c, LAST_VALUE(ts) AS d, COUNT(ts) AS e, ARRAY_AGG(ts) AS f,
  COLLECT(ts) AS g FROM timed;

-- case: aggregates_of_proctime
-- show: schema
SELECT MAX(pt) AS a, MIN(pt) AS b, FIRST_VALUE(pt) AS c, LAST_VALUE(pt) AS d, COUNT(pt) AS e FROM timed;

-- case: aggregates_by_key
-- show: schema
SELECT name, MAX(ts) AS a, MIN(pt) AS b FROM timed GROUP BY name;

-- case: aggregates_in_window
-- show: schema
SELECT window_start, MAX(ts) AS a, MIN(pt) AS b, LAST_VALUE(ts) AS c
FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

-- case: group_by_rowtime
-- show: schema
SELECT ts, COUNT(*) AS n FROM timed GROUP BY ts;

-- case: group_by_proctime
-- show: schema
SELECT pt, COUNT(*) AS n FROM timed GROUP BY pt;

-- case: distinct
-- show: schema
SELECT DISTINCT ts, pt FROM timed;

-- case: window_of_grouped_time
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT ts, COUNT(*) AS c FROM timed GROUP BY ts), DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: window_of_latest_time
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT name, MAX(ts) AS ts FROM timed GROUP BY name), DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: group_window_of_latest_time
SELECT COUNT(*) AS n FROM (SELECT name, MAX(ts) AS ts FROM timed GROUP BY name)
GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: union_of_rowtimes
-- show: schema
SELECT id, ts FROM timed UNION ALL SELECT id, ts FROM clicks;

-- case: union_of_plain_and_rowtime
-- show: schema
SELECT id, ts FROM kinds UNION ALL SELECT id, ts FROM clicks;

-- case: union_of_rowtime_and_plain_rows
-- order: bag
SELECT id, ts FROM clicks WHERE id < 3 UNION ALL SELECT id, ts FROM kinds WHERE id < 3;

-- case: union_of_proctimes
-- show: schema
SELECT id, pt FROM timed UNION ALL SELECT id, PROCTIME() FROM clicks;

-- case: union_of_proctime_and_plain
-- show: schema
SELECT pt FROM timed UNION ALL SELECT ltz FROM kinds;

-- case: union_of_plain_and_proctime
-- show: schema
SELECT ltz FROM kinds UNION ALL SELECT pt FROM timed;

-- case: union_of_proctime_and_rowtime
-- show: schema
SELECT pt FROM timed UNION ALL SELECT ts FROM clicks_ltz;

-- case: union_of_rowtime_and_proctime
-- show: schema
SELECT ts FROM clicks_ltz UNION ALL SELECT pt FROM timed;

-- case: union_of_precisions
-- show: schema
SELECT ts FROM clicks UNION ALL SELECT CAST(ts AS TIMESTAMP(6)) FROM kinds;

-- case: union_distinct
-- show: schema
SELECT ts FROM clicks UNION SELECT ts FROM timed;

-- case: intersect
-- show: schema
SELECT ts FROM clicks INTERSECT SELECT ts FROM timed;

-- case: intersect_of_proctimes
-- show: schema
SELECT pt FROM timed INTERSECT SELECT PROCTIME() FROM clicks;

-- case: sum_in_window
-- order: bag
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT id, ts + INTERVAL '1' SECOND AS later FROM clicks), DESCRIPTOR(later), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: difference_in_window
-- order: bag
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT id, ts - INTERVAL '20' SECOND AS earlier FROM clicks), DESCRIPTOR(earlier), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: cast_in_window
-- order: bag
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT id, CAST(ts AS TIMESTAMP(3)) AS plain FROM clicks), DESCRIPTOR(plain), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: proctime_cast_in_window
-- mode: streaming
SELECT window_start FROM TABLE(TUMBLE(
  (SELECT id, CAST(pt AS TIMESTAMP_LTZ(3)) AS plain FROM timed), DESCRIPTOR(plain), INTERVAL '40' DAY));

-- case: proctime_sum_in_window
SELECT COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT id, pt + INTERVAL '1' SECOND AS later FROM timed), DESCRIPTOR(later), INTERVAL '40' DAY))
GROUP BY window_start, window_end;

-- case: order_by_proctime
-- order: bag
SELECT id FROM timed ORDER BY pt;

-- case: order_by_proctime_and_more
-- show: schema
-- note: Flink loses rows that wait for the next millisecond when the input ends
SELECT id FROM timed ORDER BY pt, id;

-- case: order_by_proctime_desc
-- mode: streaming
-- order: bag
SELECT id FROM timed ORDER BY pt DESC;

-- case: tumble_rows
-- order: bag
SELECT id, window_end > window_start AS there FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY));

-- case: tumble_rows_borders
-- order: bag
SELECT id, CAST(window_start AS TIME) AS s, CAST(window_end AS TIME) AS e,
  window_end - INTERVAL '40' DAY = window_start AS whole FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY));

-- case: hop_rows
-- order: folded
SELECT COUNT(*) AS n FROM (SELECT id, window_end FROM TABLE(HOP(TABLE timed, DESCRIPTOR(pt), INTERVAL '20' DAY, INTERVAL '40' DAY)));

-- case: cumulate_rows
-- order: bag
SELECT id FROM TABLE(CUMULATE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY, INTERVAL '40' DAY));

-- case: session_rows
-- order: bag
SELECT id FROM TABLE(SESSION(TABLE timed PARTITION BY name, DESCRIPTOR(pt), INTERVAL '40' DAY));

-- case: session_rows_schema
-- show: schema
SELECT * FROM TABLE(SESSION(TABLE timed PARTITION BY name, DESCRIPTOR(pt), INTERVAL '40' DAY));

-- case: tumble
-- order: bag
-- note: the windows are open when the input ends
SELECT window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY))
GROUP BY window_start, window_end;

-- case: hop
-- order: bag
-- note: the windows are open when the input ends
SELECT window_start, window_end, COUNT(*) AS n FROM TABLE(HOP(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY, INTERVAL '80' DAY))
GROUP BY window_start, window_end;

-- case: cumulate
-- order: bag
-- note: the windows are open when the input ends
SELECT window_start, window_end, COUNT(*) AS n FROM TABLE(CUMULATE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY, INTERVAL '80' DAY))
GROUP BY window_start, window_end;

-- case: session
-- mode: batch
-- note: the windows are open when the input ends
SELECT window_start, window_end, name, COUNT(*) AS n
FROM TABLE(SESSION(TABLE timed PARTITION BY name, DESCRIPTOR(pt), INTERVAL '40' DAY))
GROUP BY window_start, window_end, name;

-- case: window_time_schema
-- show: schema
SELECT window_start, window_time, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY))
GROUP BY window_start, window_end, window_time;

-- case: cascade
-- order: bag
SELECT window_start, SUM(n) AS n FROM TABLE(TUMBLE((
  SELECT window_start AS s, window_end AS e, window_time AS t, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY))
  GROUP BY window_start, window_end, window_time), DESCRIPTOR(t), INTERVAL '80' DAY))
GROUP BY window_start, window_end;

-- case: cascade_schema
-- show: schema
SELECT window_start, window_time, SUM(n) AS n FROM TABLE(TUMBLE((
  SELECT window_start AS s, window_end AS e, window_time AS t, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY))
  GROUP BY window_start, window_end, window_time), DESCRIPTOR(t), INTERVAL '80' DAY))
GROUP BY window_start, window_end, window_time;

-- case: same_windows_again
-- order: folded
SELECT window_start, SUM(n) AS n FROM (
  SELECT window_start, window_end, name, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY))
  GROUP BY window_start, window_end, name)
GROUP BY window_start, window_end;

-- case: conditions_on_borders
-- order: folded
SELECT COUNT(*) AS n FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY))
WHERE window_start > TIMESTAMP '2020-01-01 00:00:00' GROUP BY window_start, window_end;

-- case: distinct_in_window
-- order: bag
SELECT window_start, COUNT(DISTINCT v) AS n FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(pt), INTERVAL '40' DAY))
GROUP BY window_start, window_end;

-- case: window_of_call
-- order: bag
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT id, PROCTIME() AS pt FROM clicks), DESCRIPTOR(pt), INTERVAL '40' DAY)) GROUP BY window_start, window_end;

-- case: window_over_grouped_rows
-- mode: streaming
-- order: bag
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(
  (SELECT name, COUNT(*) AS c, PROCTIME() AS pt FROM clicks GROUP BY name), DESCRIPTOR(pt), INTERVAL '40' DAY))
GROUP BY window_start, window_end;

-- case: group_tumble
-- order: bag
-- note: the windows are open when the input ends
SELECT TUMBLE_START(pt, INTERVAL '40' DAY) AS s, COUNT(*) AS n FROM timed GROUP BY TUMBLE(pt, INTERVAL '40' DAY);

-- case: group_hop
-- order: bag
SELECT COUNT(*) AS n FROM timed GROUP BY HOP(pt, INTERVAL '40' DAY, INTERVAL '80' DAY);

-- case: group_session
-- order: bag
SELECT name, COUNT(*) AS n FROM timed GROUP BY name, SESSION(pt, INTERVAL '40' DAY);

-- case: group_schema
-- show: schema
SELECT TUMBLE_START(pt, INTERVAL '40' DAY) AS s, TUMBLE_END(pt, INTERVAL '40' DAY) AS e,
  TUMBLE_PROCTIME(pt, INTERVAL '40' DAY) AS p, COUNT(*) AS n FROM timed GROUP BY TUMBLE(pt, INTERVAL '40' DAY);

-- case: group_rowtime_of_proctime
SELECT TUMBLE_ROWTIME(pt, INTERVAL '40' DAY) AS r FROM timed GROUP BY TUMBLE(pt, INTERVAL '40' DAY);

-- case: group_proctime_of_rowtime
-- order: bag
SELECT TUMBLE_PROCTIME(ts, INTERVAL '10' SECOND) AS r, COUNT(*) AS n FROM timed GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: group_cascade
-- order: bag
SELECT TUMBLE_START(p, INTERVAL '80' DAY) AS s, SUM(n) AS n FROM (
  SELECT TUMBLE_PROCTIME(pt, INTERVAL '40' DAY) AS p, COUNT(*) AS n FROM timed GROUP BY TUMBLE(pt, INTERVAL '40' DAY))
GROUP BY TUMBLE(p, INTERVAL '80' DAY);

-- case: group_over_grouped_rows
-- mode: streaming
-- order: bag
SELECT COUNT(*) AS n FROM (SELECT name, COUNT(*) AS c, PROCTIME() AS pt FROM clicks GROUP BY name)
GROUP BY TUMBLE(pt, INTERVAL '40' DAY);

-- case: insert
CREATE TABLE taken (id INT, pt TIMESTAMP_LTZ(3)) WITH ('connector' = 'blackhole');
INSERT INTO taken SELECT id, pt FROM timed;

-- case: insert_into_timestamp
CREATE TABLE taken (id INT, pt TIMESTAMP(3)) WITH ('connector' = 'blackhole');
INSERT INTO taken SELECT id, pt FROM timed;

-- case: watermark_for_proctime
CREATE TABLE wrong (id INT, pt AS PROCTIME(), WATERMARK FOR pt AS pt - INTERVAL '1' SECOND)
  WITH ('connector' = 'filesystem', 'path' = '{data}/clicks.csv', 'format' = 'csv');
SELECT * FROM wrong;

-- case: current_watermark_of_proctime
SELECT CURRENT_WATERMARK(pt) FROM timed;

-- case: two_windows_named
SELECT id, window_start0 FROM TABLE(TUMBLE(
  (SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))),
  DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: two_windows_not_named
-- order: bag
SELECT id FROM TABLE(TUMBLE(
  (SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))),
  DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: a_column_named_window_start
SELECT * FROM TABLE(TUMBLE((SELECT id AS window_start, ts FROM clicks), DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: a_column_named_window_start_grouped
SELECT window_end, COUNT(*) AS n FROM TABLE(TUMBLE((SELECT id AS window_start, ts FROM clicks),
  DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_end;

-- case: emit_early_without_delay
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_early_each_hour
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 1 h
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_early_and_late
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 0 s
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_early_and_allowed
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_late_without_lateness
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 0 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_late_without_delay
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_late_each_hour
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 1 h
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_late_hop
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 0 s
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- case: emit_early_hop
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: by s
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- case: emit_early_by_key
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: by name, e
SELECT name, TUMBLE_END(ts, INTERVAL '10' SECOND) AS e, SUM(v) AS v, MAX(v) AS hi
FROM late_clicks GROUP BY name, TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_early_proctime
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
SELECT COUNT(*) AS n, SUM(v) AS v
FROM timed GROUP BY TUMBLE(pt, INTERVAL '40' DAY);

-- case: emit_late_proctime
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 0 s
-- set: table.exec.emit.allow-lateness = 10 s
SELECT COUNT(*) AS n, SUM(v) AS v
FROM timed GROUP BY TUMBLE(pt, INTERVAL '40' DAY);

-- case: emit_late_of_table_function
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 0 s
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT window_start AS s, COUNT(*) AS n, SUM(v) AS v
FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

-- case: emit_allowed_of_table_function
-- mode: streaming
-- set: table.exec.emit.allow-lateness = 10 s
-- order: by s
SELECT window_start AS s, COUNT(*) AS n, SUM(v) AS v
FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

-- case: emit_early_of_rows
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: bag
SELECT window_start FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: emit_early_disabled
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = false
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: by s
SELECT window_start AS s, COUNT(*) AS n, SUM(v) AS v
FROM TABLE(TUMBLE(TABLE late_clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

-- case: emit_early_delay_only
-- mode: streaming
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: by s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: emit_early_of_session_table_function
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
-- order: bag
SELECT window_start, name, COUNT(*) AS n
FROM TABLE(SESSION(TABLE late_clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end, name;

-- case: emit_late_session
-- mode: streaming
-- set: table.exec.emit.late-fire.enabled = true
-- set: table.exec.emit.late-fire.delay = 0 s
-- set: table.exec.emit.allow-lateness = 10 s
-- order: bag
SELECT name, COUNT(*) AS n FROM late_clicks GROUP BY name, SESSION(ts, INTERVAL '5' SECOND);

-- case: emit_allowed_session
-- mode: streaming
-- set: table.exec.emit.allow-lateness = 10 s
-- order: bag
SELECT name, COUNT(*) AS n FROM late_clicks GROUP BY name, SESSION(ts, INTERVAL '5' SECOND);

-- case: emit_early_without_windows
-- mode: streaming
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
SELECT COUNT(*) AS n FROM late_clicks;

-- case: emit_early_in_batch
-- mode: batch
-- set: table.exec.emit.early-fire.enabled = true
-- set: table.exec.emit.early-fire.delay = 0 s
SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n, SUM(v) AS v
FROM late_clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);
