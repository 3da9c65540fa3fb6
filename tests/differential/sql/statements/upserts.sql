-- Changes by key: sources that repeat them, and sinks with a primary key.

-- case: repeated
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT * FROM repeated_changes;

-- case: not_repeated
-- mode: streaming
-- note: the same rows, where the source is trusted
SELECT * FROM repeated_changes;

-- case: repeated_changes_of_others
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT * FROM changes_pk;

-- case: repeated_filter
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
-- note: a row that stops to meet the condition is deleted
SELECT * FROM repeated_changes WHERE v < 20;

-- case: repeated_filter_null
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT id, v FROM repeated_changes WHERE k IS NOT NULL;

-- case: repeated_filter_key
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT * FROM repeated_changes WHERE id > 1;

-- case: repeated_filter_of_changes
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT id, k FROM changes_pk WHERE v > 12;

-- case: repeated_projection
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
-- note: what is not read cannot differ
SELECT id, k FROM changes_pk;

-- case: repeated_filter_and_projection
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT k FROM repeated_changes WHERE v > 12;

-- case: repeated_group
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT k, COUNT(*) AS n, SUM(v) AS s FROM repeated_changes GROUP BY k;

-- case: repeated_computed
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
CREATE TABLE o (id INT, k STRING, v INT, w AS v * 2, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'filesystem', 'path' = '{data}/repeated_changes.json',
  'format' = 'debezium-json');
SELECT * FROM o WHERE w > 20;

-- case: repeated_computed_and_watermark
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
CREATE TABLE o (id INT, k STRING, v INT,
  ts AS TO_TIMESTAMP('2026-01-01 00:00:0' || CAST(id AS STRING)),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'filesystem', 'path' = '{data}/repeated_changes.json',
  'format' = 'debezium-json');
SELECT window_start, COUNT(*) AS n, SUM(v) AS s
FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '2' SECOND))
GROUP BY window_start, window_end;

-- case: repeated_two_keys
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
CREATE TABLE o (id INT, k STRING, v INT, PRIMARY KEY (id, k) NOT ENFORCED) WITH (
  'connector' = 'filesystem', 'path' = '{data}/repeated_changes.json',
  'format' = 'debezium-json');
SELECT * FROM o;

-- case: repeated_without_key
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT * FROM changes;

-- case: repeated_of_inserts
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
SELECT id, k FROM orders WHERE id < 3;

-- case: repeated_in_batch
-- mode: batch
-- set: table.exec.source.cdc-events-duplicate = true
SELECT * FROM repeated_changes;

-- case: changes_in_batch
-- mode: batch
SELECT * FROM changes_pk;

-- case: repeated_mini_batch
-- mode: streaming
-- order: folded
-- set: table.exec.source.cdc-events-duplicate = true
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 1 s
-- set: table.exec.mini-batch.size = 100
SELECT * FROM repeated_changes;

-- case: repeated_into_keyed_print
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
CREATE TABLE o (id INT, k STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'print');
INSERT INTO o SELECT * FROM repeated_changes;

-- case: changes_into_other_key
-- mode: streaming
CREATE TABLE o (id INT, k STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT id, k FROM changes_pk WHERE k IS NOT NULL;

-- case: changes_into_other_key_deduplicated
-- mode: streaming
CREATE TABLE o (id INT, v INT, PRIMARY KEY (v) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT id, v FROM changes_pk WHERE v IS NOT NULL ON CONFLICT DO DEDUPLICATE;

-- case: changes_without_key_into_keyed
-- mode: streaming
CREATE TABLE o (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT id, v FROM changes;

-- case: changes_without_key_into_keyed_deduplicated
-- mode: streaming
CREATE TABLE o (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT id, v FROM changes ON CONFLICT DO DEDUPLICATE;

-- case: materialize_none
-- mode: streaming
-- set: table.exec.sink.upsert-materialize = NONE
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: materialize_forced_without_key
-- mode: streaming
-- set: table.exec.sink.upsert-materialize = FORCE
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: materialize_forced_of_inserts
-- mode: streaming
-- set: table.exec.sink.upsert-materialize = FORCE
CREATE TABLE o (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, v FROM orders WHERE k IS NOT NULL AND id < 8;

-- case: key_inside_primary_key
-- mode: streaming
-- note: the query's key is a part of the sink's
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k, n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: primary_key_inside_key
-- mode: streaming
CREATE TABLE o (k STRING, f BOOLEAN, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'print');
INSERT INTO o SELECT k, flag, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k, flag;

-- case: key_is_computed
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT UPPER(k), COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: key_by_another_name
-- mode: streaming
CREATE TABLE o (`key` STRING, n BIGINT, PRIMARY KEY (`key`) NOT ENFORCED) WITH (
  'connector' = 'print');
INSERT INTO o SELECT x, n FROM (
  SELECT k AS x, COUNT(*) AS n FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k);

-- case: no_key_of_one_row
-- mode: streaming
-- note: an aggregation without keys has one row
CREATE TABLE o (n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT COUNT(*) FROM orders WHERE id < 4;

-- case: union_into_keyed
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE id < 4 AND k IS NOT NULL GROUP BY k
UNION ALL SELECT 'x', COUNT(*) FROM orders WHERE id < 3;

-- case: blackhole_of_other_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: debezium_of_other_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'debezium-json');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: deduplicate_without_primary_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k
ON CONFLICT DO DEDUPLICATE;

-- case: deduplicate_in_batch
-- mode: batch
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k
ON CONFLICT DO DEDUPLICATE;

-- case: deduplicate_with_deletes
-- mode: streaming
CREATE TABLE o (n BIGINT, k STRING, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT COUNT(*), k FROM changes_pk WHERE k IS NOT NULL GROUP BY k
ON CONFLICT DO DEDUPLICATE;

-- case: deduplicate_without_query_key
-- mode: streaming
CREATE TABLE o (n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT COUNT(*) FROM changes_pk WHERE k IS NOT NULL GROUP BY k
ON CONFLICT DO DEDUPLICATE;

-- case: null_in_primary_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE id < 8 GROUP BY k;

-- case: null_in_primary_key_dropped
-- mode: streaming
-- set: table.exec.sink.not-null-enforcer = DROP
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: having_into_keyed
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL GROUP BY k HAVING COUNT(*) < 3;

-- case: with_ttl_repeated
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
-- set: table.exec.state.ttl = 1 d
-- note: with a time to live a row that is there is given again
SELECT * FROM repeated_changes;

-- case: with_ttl_repeated_filtered
-- mode: streaming
-- set: table.exec.source.cdc-events-duplicate = true
-- set: table.exec.state.ttl = 1 d
SELECT * FROM repeated_changes WHERE v > 10;

-- case: with_ttl_deduplicated
-- mode: streaming
-- set: table.exec.state.ttl = 1 d
CREATE TABLE o (id INT, v INT, PRIMARY KEY (v) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT id, v FROM changes_pk WHERE v IS NOT NULL ON CONFLICT DO DEDUPLICATE;
