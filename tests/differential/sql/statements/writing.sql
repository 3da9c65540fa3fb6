-- Tables that are made and written by statements: CREATE TABLE AS, partitions, INSERT OVERWRITE.

-- case: one_null
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o VALUES (2, NULL);

-- case: null_of_type
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o VALUES (1, 'a'), (2, CAST(NULL AS STRING));

-- case: null_in_select
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o SELECT 2, NULL;

-- case: null_in_select_of_values
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS t(a, b);

-- case: as_select_with_column
CREATE TABLE o (w AS id + 1, extra STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id, k FROM orders WHERE id < 4;
DESCRIBE o;

-- case: as_select_with_column_written
CREATE TABLE o (w AS id + 1, extra STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv', 'csv.null-literal' = 'n')
AS SELECT id, k FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: as_select_other_order
CREATE TABLE o (k, id) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id, k FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: as_select_other_type
CREATE TABLE o (id BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id, k FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: as_select_wrong_type
CREATE TABLE o (id BOOLEAN) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id, k FROM orders WHERE id < 4;

-- case: as_select_partitioned
-- order: bag
CREATE TABLE o PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id, k FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: as_select_exists
CREATE TABLE o (a INT) WITH ('connector' = 'print');
CREATE TABLE o WITH ('connector' = 'print') AS SELECT id FROM orders;

-- case: as_select_if_not_exists
CREATE TABLE o (a INT) WITH ('connector' = 'print');
CREATE TABLE IF NOT EXISTS o WITH ('connector' = 'print') AS SELECT id FROM orders;

-- case: as_select_temporary
CREATE TEMPORARY TABLE o WITH ('connector' = 'print') AS SELECT id FROM orders;

-- case: as_select_of_changes
-- mode: streaming
CREATE TABLE o WITH ('connector' = 'print') AS SELECT k, COUNT(*) AS n FROM orders
WHERE id < 4 GROUP BY k;

-- case: as_select_not_taken
-- mode: streaming
CREATE TABLE o WITH ('connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT k, COUNT(*) AS n FROM orders GROUP BY k;

-- case: replace_as_select
REPLACE TABLE o WITH ('connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id FROM orders;

-- case: create_or_replace_as_select
CREATE OR REPLACE TABLE o WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id FROM orders;

-- case: partition_in_the_middle
-- order: bag
CREATE TABLE o (a INT, k STRING, b INT) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (k = 'x') SELECT id, v FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: two_partitions_one_named
-- order: bag
CREATE TABLE o (a INT, k STRING, f BOOLEAN) PARTITIONED BY (k, f) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (k = 'x') SELECT id, flag FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: second_partition_named
-- order: bag
CREATE TABLE o (a INT, k STRING, f INT) PARTITIONED BY (k, f) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (f = 7) SELECT id, k FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: partition_with_columns
-- order: bag
CREATE TABLE o (a INT, k STRING, b INT) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv', 'csv.null-literal' = 'n');
INSERT INTO o PARTITION (k = 'x') (b) SELECT v FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: partition_and_column
CREATE TABLE o (a INT, k STRING, b INT) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (k = 'x') (a, k) SELECT id, k FROM orders;

-- case: partition_too_many_columns
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (k = 'x') SELECT id, k FROM orders;

-- case: partition_unknown
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (nope = 'x') SELECT id FROM orders;

-- case: partition_no_partition_column
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (a = 1) SELECT k FROM orders;

-- case: partition_of_no_partitions
CREATE TABLE o (a INT, k STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (k = 'x') SELECT id FROM orders;

-- case: partition_other_type
CREATE TABLE o (a INT, k INT) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (k = '7') SELECT id FROM orders WHERE id < 3;
SELECT * FROM o;

-- case: partitions_all
CREATE TABLE o (k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT k FROM orders;

-- case: partitioned_filter
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 5;
SELECT a FROM o WHERE k = 'b';

-- case: partitioned_by_unknown
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (nope) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');

-- case: show_partitions
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
SHOW PARTITIONS o;

-- case: overwrite_partition
-- mode: batch
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 6 AND k IS NOT NULL;
INSERT OVERWRITE o PARTITION (k = 'a') VALUES (99);
SELECT * FROM o;

-- case: overwrite_dynamic
-- mode: batch
-- note: only the partitions that get rows
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 6 AND k IS NOT NULL;
INSERT OVERWRITE o VALUES (99, 'a'), (98, 'z');
SELECT * FROM o;

-- case: overwrite_with_nothing
-- mode: batch
CREATE TABLE o (a INT, k STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 3;
INSERT OVERWRITE o SELECT id, k FROM orders WHERE id < 0;
SELECT * FROM o;

-- case: overwrite_partition_with_nothing
-- mode: batch
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 6 AND k IS NOT NULL;
INSERT OVERWRITE o PARTITION (k = 'a') SELECT id FROM orders WHERE id < 0;
SELECT * FROM o;

-- case: overwrite_itself
-- mode: batch
CREATE TABLE o (a INT, k STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 4;
INSERT OVERWRITE o SELECT a + 10, k FROM o WHERE a > 1;
SELECT * FROM o;

-- case: overwrite_print
-- mode: batch
CREATE TABLE o (a INT) WITH ('connector' = 'print');
INSERT OVERWRITE o SELECT id FROM orders;

-- case: overwrite_new_table
-- mode: batch
CREATE TABLE o (a INT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/new/o', 'format' = 'csv');
INSERT OVERWRITE o SELECT id FROM orders WHERE id < 3;
SELECT * FROM o;

-- case: insert_hint
CREATE TABLE o (a INT) WITH ('connector' = 'print');
INSERT INTO o /*+ OPTIONS('print-identifier' = 'x') */ SELECT id FROM orders WHERE id < 3;

-- case: columns_default_null
CREATE TABLE o (a INT, b STRING, c INT) WITH ('connector' = 'print');
INSERT INTO o (c, a) SELECT id, v FROM orders WHERE id < 3;

-- case: columns_missing_not_null
CREATE TABLE o (a INT NOT NULL, b STRING) WITH ('connector' = 'print');
INSERT INTO o (b) SELECT k FROM orders WHERE id < 3;

-- case: computed_twice
CREATE TABLE o (i INT, w AS i + 1, w AS i + 2) WITH ('connector' = 'print');

-- case: computed_boolean_watermark
CREATE TABLE o (i INT, ts AS i > 1, WATERMARK FOR ts AS ts) WITH ('connector' = 'print');

-- case: watermark_computed_precision
CREATE TABLE o (i INT, ts AS CAST('2026-01-01 00:00:00' AS TIMESTAMP(6)),
  WATERMARK FOR ts AS ts) WITH ('connector' = 'print');

-- case: watermark_null
CREATE TABLE o (ts TIMESTAMP(3), WATERMARK FOR ts AS CAST(NULL AS TIMESTAMP(3))) WITH (
  'connector' = 'print');
DESCRIBE o;

-- case: watermark_reads_computed
CREATE TABLE o (i INT, t TIMESTAMP(3), u AS t + INTERVAL '1' SECOND, WATERMARK FOR t AS u) WITH (
  'connector' = 'print');
DESCRIBE o;

-- case: watermark_precision_of_expression
CREATE TABLE o (a TIMESTAMP(6), t TIMESTAMP(3), WATERMARK FOR t AS a) WITH ('connector' = 'print');

-- case: watermark_nested
CREATE TABLE o (r ROW<t TIMESTAMP(3)>, WATERMARK FOR r.t AS r.t) WITH ('connector' = 'print');
DESCRIBE o;

-- case: computed_of_metadata
CREATE TABLE o (i INT, s STRING, n STRING METADATA FROM 'file.name', u AS UPPER(n)) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv',
  'csv.null-literal' = '');
SELECT * FROM o WHERE i = 3;

-- case: alter_computed_of_computed
CREATE TABLE o (i INT, w AS i + 1) WITH ('connector' = 'print');
ALTER TABLE o ADD (x AS w + 1);

-- case: alter_watermark_on_text
CREATE TABLE o (i INT, s STRING) WITH ('connector' = 'print');
ALTER TABLE o ADD (WATERMARK FOR s AS s);

-- case: like_wrong_watermark
CREATE TABLE o (WATERMARK FOR i AS i) WITH ('connector' = 'print') LIKE t1 (EXCLUDING OPTIONS);

-- case: decimal_cast_too_wide
-- show: schema
SELECT CAST(v AS DECIMAL(39, 2)) AS d FROM orders;

-- case: decimal_scale_too_wide
CREATE TABLE o (a DECIMAL(50, 40)) WITH ('connector' = 'print');
DESCRIBE o;

-- case: decimal_scale_beyond
CREATE TABLE o (a DECIMAL(3, 5)) WITH ('connector' = 'print');

-- case: interval_month_column
CREATE TABLE o (a INTERVAL YEAR) WITH ('connector' = 'print');

-- case: interval_array_column
CREATE TABLE o (a ARRAY<INTERVAL DAY>) WITH ('connector' = 'print');

-- case: metadata_twice
CREATE TABLE o (i INT, a STRING METADATA FROM 'file.name', b STRING METADATA FROM 'file.name')
WITH ('connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');
SELECT i, a, b FROM o;

-- case: metadata_other_type
CREATE TABLE o (i INT, s STRING, n INT METADATA FROM 'file.size') WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv',
  'csv.null-literal' = '');
SELECT i, n FROM o WHERE i = 3;

-- case: metadata_wrong_type
CREATE TABLE o (i INT, s STRING, n BOOLEAN METADATA FROM 'file.name') WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv',
  'csv.null-literal' = '');
SELECT i, n FROM o WHERE i = 3;

-- case: metadata_time
CREATE TABLE o (i INT, s STRING, t TIMESTAMP_LTZ(3) NOT NULL METADATA FROM 'file.modification-time')
WITH ('connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv',
  'csv.null-literal' = '');
SELECT i, t > TIMESTAMP '2020-01-01 00:00:00' AS later FROM o WHERE i = 3;

-- case: metadata_written
CREATE TABLE o (i INT, n STRING METADATA FROM 'file.name') WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders;

-- case: unbounded_in_batch
-- mode: batch
CREATE TABLE o (a INT) WITH ('connector' = 'datagen');
SELECT a FROM o;

-- case: options_hint_of_view
CREATE VIEW w AS SELECT id FROM orders;
SELECT * FROM w /*+ OPTIONS('csv.null-literal' = 'a') */;

-- case: constant_beside_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM (SELECT k, 1 AS c FROM orders WHERE k IS NOT NULL) AS t
GROUP BY k, c;

-- case: text_of_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT CAST(v AS STRING), COUNT(*) FROM orders WHERE v > 0 GROUP BY v;

-- case: short_text_of_key
-- mode: streaming
CREATE TABLE o (k VARCHAR(3), n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT CAST(v AS VARCHAR(3)), COUNT(*) FROM orders WHERE v > 0 GROUP BY v;
