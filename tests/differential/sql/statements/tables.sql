-- The tables that cases share; rows in ../data.

CREATE TABLE orders (
  id INT, k STRING, v INT, big BIGINT, price DECIMAL(8, 2), score DOUBLE, flag BOOLEAN, `day` DATE
) WITH ('connector' = 'filesystem', 'path' = '{data}/orders.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE numbers (
  g STRING, ti TINYINT, si SMALLINT, i INT, bi BIGINT, f FLOAT, d DOUBLE, de DECIMAL(5, 2),
  wide DECIMAL(30, 2)
) WITH ('connector' = 'filesystem', 'path' = '{data}/numbers.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE clicks (
  id INT, name STRING, v INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/clicks.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE timed (
  id INT, name STRING, v INT, ts TIMESTAMP(3), pt AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/clicks.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE late_clicks (
  id INT, name STRING, v INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/late_clicks.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE bridges (
  id INT, name STRING, v INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/bridges.csv', 'format' = 'csv');

CREATE TABLE clicks_ltz (
  id INT, name STRING, v INT, ts TIMESTAMP_LTZ(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/clicks_ltz.json', 'format' = 'json');

CREATE TABLE null_times (
  id INT, name STRING, v INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/null_times.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE nested (
  id INT, tags ARRAY<STRING>, attrs MAP<STRING, INT>, addr ROW<city STRING, zip INT>,
  points ARRAY<ROW<x INT, y INT>>, ints ARRAY<INT>
) WITH ('connector' = 'filesystem', 'path' = '{data}/nested.json', 'format' = 'json');

CREATE TABLE kinds (
  id INT, b BOOLEAN, s STRING, `by` BYTES, d DATE, t TIME, ts TIMESTAMP(3), ltz TIMESTAMP_LTZ(3),
  `dec` DECIMAL(6, 2), f DOUBLE, c CHAR(2)
) WITH ('connector' = 'filesystem', 'path' = '{data}/kinds.json', 'format' = 'json');

CREATE TABLE changes (
  id INT, k STRING, v INT
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');

CREATE TABLE changes_pk (
  id INT, k STRING, v INT, PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'path' = '{data}/changes.json', 'format' = 'debezium-json');

CREATE TABLE nothing (
  k STRING, v INT
) WITH ('connector' = 'filesystem', 'path' = '{data}/nothing.csv', 'format' = 'csv');

CREATE TABLE t1 (
  i INT, s STRING
) WITH ('connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE t2 (
  i INT, s STRING
) WITH ('connector' = 'filesystem', 'path' = '{data}/t2.csv', 'format' = 'csv',
  'csv.null-literal' = '');

CREATE TABLE repeated_changes (
  id INT, k STRING, v INT, PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'path' = '{data}/repeated_changes.json',
  'format' = 'debezium-json');
