-- What each node of a plan emits, also under sinks of different kinds.

-- case: projection
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id, v + 1 FROM orders WHERE v > 1;

-- case: group
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: group_into_retract
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: group_into_keyed
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: group_into_other_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: group_into_blackhole
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: group_into_debezium
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'debezium-json');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: nested_group
-- mode: streaming
EXPLAIN CHANGELOG_MODE
SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t GROUP BY n;

-- case: nested_max
-- mode: streaming
EXPLAIN CHANGELOG_MODE
SELECT MAX(m) FROM (SELECT k, MAX(v) AS m FROM orders GROUP BY k) AS t;

-- case: nested_into_keyed
-- mode: streaming
CREATE TABLE o (n BIGINT, c BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o
SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t GROUP BY n;

-- case: having
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT k, COUNT(*) FROM orders GROUP BY k HAVING COUNT(*) < 3;

-- case: having_into_keyed
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k HAVING COUNT(*) < 3;

-- case: distinct
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT DISTINCT k FROM orders;

-- case: distinct_of_changelog
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT DISTINCT k FROM changes;

-- case: union_all
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT k, v FROM orders UNION ALL SELECT k, v FROM changes;

-- case: union
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT i FROM t1 UNION SELECT i FROM t2;

-- case: intersect
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT i FROM t1 INTERSECT SELECT i FROM t2;

-- case: except
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT i FROM t1 EXCEPT SELECT i FROM t2;

-- case: window
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT window_start, COUNT(*)
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: session
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT window_start, name, COUNT(*)
FROM TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, name;

-- case: group_window
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT COUNT(*) FROM clicks GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);

-- case: grouping_sets
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT k, flag, COUNT(*) FROM orders GROUP BY ROLLUP (k, flag);

-- case: changelog_source
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT * FROM changes;

-- case: changelog_source_filter
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id FROM changes WHERE v > 1;

-- case: keyed_source
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT * FROM changes_pk;

-- case: keyed_source_normalized
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
EXPLAIN CHANGELOG_MODE SELECT * FROM changes_pk;

-- case: keyed_source_into_keyed
-- mode: streaming
CREATE TABLE o (id INT, k STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT id, k FROM changes_pk;

-- case: limit
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id FROM orders LIMIT 3;

-- case: order_limit
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id, v FROM orders ORDER BY v LIMIT 3;

-- case: order_by_time
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id, ts FROM clicks ORDER BY ts;

-- case: unnest
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id, tag FROM nested CROSS JOIN UNNEST(tags) AS t(tag);

-- case: mini_batch
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 100
EXPLAIN CHANGELOG_MODE SELECT k, COUNT(DISTINCT v), SUM(v) FROM orders GROUP BY k;

-- case: values
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT * FROM (VALUES (1), (2)) AS t(x);

-- case: in_values
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id FROM orders WHERE v IN (SELECT x FROM (VALUES (10), (20)) AS t(x));

-- case: scalar_subquery
-- mode: streaming
EXPLAIN CHANGELOG_MODE
SELECT id FROM orders WHERE v > (SELECT MAX(x) FROM (VALUES (10), (15)) AS t(x));

-- case: top_n
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id, k, v FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM orders) AS t WHERE r <= 2;

-- case: deduplicate_first
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT id, name FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY ts) AS r FROM clicks) AS t WHERE r = 1;

-- case: join
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT t1.i FROM t1 LEFT JOIN t2 ON t1.i = t2.i;

-- case: unknown_table
-- mode: streaming
EXPLAIN CHANGELOG_MODE SELECT * FROM nope;

-- case: conflict_deduplicate
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k
ON CONFLICT DO DEDUPLICATE;

-- case: append_into_keyed
-- mode: streaming
CREATE TABLE o (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, v FROM orders;

-- case: append_into_csv
-- mode: streaming
CREATE TABLE o (k STRING, v INT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT k, v FROM orders;

-- case: changelog_into_changelog
-- mode: streaming
CREATE TABLE o (id INT, v INT) WITH ('connector' = 'print');
EXPLAIN CHANGELOG_MODE INSERT INTO o SELECT id, v FROM changes WHERE v > 1;

-- case: window_over_changelog
-- mode: streaming
CREATE TABLE changes_ts (
  id INT, k STRING, v INT, ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');
EXPLAIN CHANGELOG_MODE SELECT window_start, COUNT(*)
FROM TABLE(TUMBLE(TABLE changes_ts, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY window_start, window_end;
