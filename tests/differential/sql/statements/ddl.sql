-- CREATE TABLE: computed and metadata columns, watermarks, keys, LIKE; what is shown of tables.

-- case: computed_column
CREATE TABLE o (id INT, k STRING, v INT, w AS v * 2, u AS UPPER(k)) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t.csv', 'format' = 'csv');
DESCRIBE o;

-- case: computed_column_values
CREATE TABLE o (i INT, s STRING, w AS i * 2, u AS UPPER(s) || '!') WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'csv.null-literal' = '');
SELECT * FROM o;

-- case: computed_column_order
-- note: a computed column in the middle is no field of the file
CREATE TABLE o (i INT, w AS i + 1, s STRING) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'csv.null-literal' = '');
SELECT * FROM o WHERE w > 2;

-- case: computed_column_of_computed
CREATE TABLE o (i INT, w AS i + 1, x AS w + 1) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: computed_column_unknown
CREATE TABLE o (i INT, w AS nope + 1) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: computed_column_type
-- show: schema
CREATE TABLE o (i INT NOT NULL, a AS i + 1, b AS i / 2.0, c AS CAST(i AS STRING), d AS i > 1) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');
SELECT * FROM o;

-- case: metadata_column
CREATE TABLE o (i INT, s STRING, `file.name` STRING NOT NULL METADATA) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'csv.null-literal' = '');
SELECT * FROM o WHERE i = 3;

-- case: metadata_column_from
CREATE TABLE o (i INT, s STRING, f STRING METADATA FROM 'file.name',
  n BIGINT METADATA FROM 'file.size')
WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'csv.null-literal' = '');
SELECT i, f, n FROM o WHERE i = 3;

-- case: metadata_unknown
CREATE TABLE o (i INT, x STRING METADATA FROM 'nope') WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');
SELECT * FROM o;

-- case: watermark_on_computed
-- order: bag
CREATE TABLE o (id INT, name STRING, v INT, text_ts STRING, ts AS TO_TIMESTAMP(text_ts),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (
  'connector' = 'filesystem', 'path' = '{data}/clicks.csv', 'format' = 'csv',
  'csv.null-literal' = '');
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '30' SECOND)) GROUP BY window_start, window_end;

-- case: watermark_is_time_itself
-- order: bag
-- note: no delay: a row is late as soon as a later one has come
CREATE TABLE o (id INT, name STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = '{data}/clicks.csv', 'format' = 'csv',
  'csv.null-literal' = '');
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;

-- case: watermark_may_be_null
-- order: bag
-- note: a watermark that is NULL is not counted
CREATE TABLE o (id INT, name STRING, v INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS CASE WHEN v > 10 THEN ts END) WITH (
  'connector' = 'filesystem', 'path' = '{data}/late_clicks.csv', 'format' = 'csv');
SELECT window_start, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;

-- case: watermark_on_text
CREATE TABLE o (ts STRING, WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: watermark_on_unknown
CREATE TABLE o (i INT, WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: watermark_twice
CREATE TABLE o (a TIMESTAMP(3), b TIMESTAMP(3), WATERMARK FOR a AS a, WATERMARK FOR b AS b) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: watermark_precision_six
CREATE TABLE o (ts TIMESTAMP(6), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: watermark_precision_default
CREATE TABLE o (ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: watermark_seconds_only
CREATE TABLE o (ts TIMESTAMP(0), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');
DESCRIBE o;

-- case: watermark_of_other_type
CREATE TABLE o (i INT, ts TIMESTAMP(3), WATERMARK FOR ts AS i) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');

-- case: primary_key
CREATE TABLE o (a INT, b STRING, c INT, PRIMARY KEY (a, b) NOT ENFORCED) WITH (
  'connector' = 'print');
DESCRIBE o;

-- case: primary_key_enforced
CREATE TABLE o (a INT, PRIMARY KEY (a)) WITH ('connector' = 'print');

-- case: primary_key_inline
CREATE TABLE o (a INT PRIMARY KEY NOT ENFORCED, b STRING) WITH ('connector' = 'print');
DESCRIBE o;

-- case: primary_key_unknown
CREATE TABLE o (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'print');

-- case: primary_key_twice
CREATE TABLE o (a INT, b INT, PRIMARY KEY (a) NOT ENFORCED, PRIMARY KEY (b) NOT ENFORCED) WITH (
  'connector' = 'print');

-- case: column_twice
CREATE TABLE o (a INT, a STRING) WITH ('connector' = 'print');

-- case: unknown_type
CREATE TABLE o (a NOPE) WITH ('connector' = 'print');

-- case: types_described
CREATE TABLE o (
  a CHAR, b CHAR(3), c VARCHAR, d VARCHAR(5), e STRING, f BOOLEAN, g BINARY, h BINARY(3),
  i VARBINARY, j BYTES, k DECIMAL, l DECIMAL(5), m NUMERIC(5, 2), n TINYINT, o SMALLINT, p INTEGER,
  q BIGINT, r FLOAT, s DOUBLE PRECISION, t DATE, u TIME, v TIME(3), w TIMESTAMP, x TIMESTAMP(9),
  y TIMESTAMP_LTZ, z TIMESTAMP(3) WITH LOCAL TIME ZONE, aa ARRAY<INT NOT NULL>, ab MAP<STRING, INT>,
  ac MULTISET<STRING>, ad ROW<x INT, y STRING NOT NULL>, ae ROW(x INT), af INT ARRAY,
  ah INT NOT NULL COMMENT 'a comment'
) WITH ('connector' = 'print');
DESCRIBE o;

-- case: types_of_select
-- show: schema
CREATE TABLE o (
  a CHAR, b CHAR(3), c VARCHAR, d VARCHAR(5), e STRING, f BOOLEAN, h BINARY(3),
  i VARBINARY, j BYTES, k DECIMAL, l DECIMAL(5), m NUMERIC(5, 2), n TINYINT, o SMALLINT, p INTEGER,
  q BIGINT, r FLOAT, s DOUBLE, t DATE, u TIME, w TIMESTAMP, x TIMESTAMP(9),
  y TIMESTAMP_LTZ, aa ARRAY<INT NOT NULL>, ab MAP<STRING, INT>,
  ad ROW<x INT, y STRING NOT NULL>, ah INT NOT NULL
) WITH ('connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'json');
SELECT * FROM o;

-- case: interval_column
CREATE TABLE o (a INTERVAL DAY TO SECOND) WITH ('connector' = 'print');

-- case: decimal_too_wide
CREATE TABLE o (a DECIMAL(39, 2)) WITH ('connector' = 'print');

-- case: like
CREATE TABLE o (extra INT) LIKE orders;
DESCRIBE o;

-- case: like_excluding_options
CREATE TABLE o WITH ('connector' = 'print') LIKE clicks (EXCLUDING OPTIONS);
DESCRIBE o;

-- case: like_excluding_watermarks
CREATE TABLE o LIKE clicks (EXCLUDING WATERMARKS);
DESCRIBE o;

-- case: like_same_column
CREATE TABLE o (id STRING) LIKE orders;

-- case: like_overwriting_watermark
CREATE TABLE o (WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) LIKE clicks (OVERWRITING WATERMARKS);
DESCRIBE o;

-- case: like_unknown
CREATE TABLE o LIKE nope;

-- case: as_select
CREATE TABLE o WITH ('connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id, k AS name, v FROM orders WHERE id < 4;
DESCRIBE o;

-- case: table_exists
CREATE TABLE o (a INT) WITH ('connector' = 'print');
CREATE TABLE o (b INT) WITH ('connector' = 'print');

-- case: table_if_not_exists
CREATE TABLE o (a INT) WITH ('connector' = 'print');
CREATE TABLE IF NOT EXISTS o (b INT) WITH ('connector' = 'print');
DESCRIBE o;

-- case: temporary_table_hides
CREATE TABLE o (a INT) WITH ('connector' = 'print');
CREATE TEMPORARY TABLE o (b INT) WITH ('connector' = 'print');
DESCRIBE o;

-- case: drop_unknown
DROP TABLE nope;

-- case: drop_if_exists
DROP TABLE IF EXISTS nope;

-- case: drop_view_as_table
CREATE VIEW w AS SELECT 1 AS x;
DROP TABLE w;

-- case: no_connector
CREATE TABLE o (a INT);
SELECT * FROM o;

-- case: unknown_connector
CREATE TABLE o (a INT) WITH ('connector' = 'nope');
SELECT * FROM o;

-- case: unknown_option
CREATE TABLE o (a INT) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'nope' = '1');
SELECT * FROM o;

-- case: missing_option
CREATE TABLE o (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv');
SELECT * FROM o;

-- case: unknown_format
CREATE TABLE o (a INT) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'nope');
SELECT * FROM o;

-- case: print_as_source
CREATE TABLE o (a INT) WITH ('connector' = 'print');
SELECT * FROM o;

-- case: datagen_as_sink
CREATE TABLE o (a INT) WITH ('connector' = 'datagen');
INSERT INTO o SELECT id FROM orders;

-- case: datagen_sequence
CREATE TABLE o (a INT, b BIGINT) WITH ('connector' = 'datagen',
  'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '5',
  'fields.b.kind' = 'sequence', 'fields.b.start' = '-2', 'fields.b.end' = '9');
SELECT a, b FROM o;

-- case: datagen_rows
CREATE TABLE o (a INT, s STRING, d DOUBLE) WITH ('connector' = 'datagen', 'number-of-rows' = '7',
  'fields.s.length' = '4', 'fields.a.min' = '1', 'fields.a.max' = '3');
SELECT COUNT(*) AS n, COUNT(DISTINCT CHAR_LENGTH(s)) AS l, MIN(a) >= 1 AS lo, MAX(a) <= 3 AS hi
FROM o HAVING COUNT(*) = 7;

-- case: csv_options
CREATE TABLE o (a STRING, b INT) WITH ('connector' = 'filesystem', 'path' = '{data}/quoted.csv',
  'format' = 'csv', 'csv.field-delimiter' = ';', 'csv.quote-character' = '''',
  'csv.allow-comments' = 'true', 'csv.null-literal' = 'n/a');
SELECT * FROM o;

-- case: csv_bad_row
CREATE TABLE o (i INT, s INT) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');
SELECT * FROM o;

-- case: csv_bad_row_ignored
CREATE TABLE o (i INT, s INT) WITH ('connector' = 'filesystem', 'path' = '{data}/t1.csv',
  'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
SELECT * FROM o;

-- case: csv_more_columns_than_fields
CREATE TABLE o (i INT, s STRING, x INT) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'csv.null-literal' = '');
SELECT * FROM o;

-- case: csv_fewer_columns_than_fields
CREATE TABLE o (i INT) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'csv.null-literal' = '');
SELECT * FROM o;

-- case: csv_empty_is_not_null
-- note: without a null literal
CREATE TABLE o (i STRING, s STRING) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv');
SELECT * FROM o;

-- case: json_other_columns
-- note: by name; what is not there is NULL
CREATE TABLE o (tags ARRAY<STRING>, nope INT, id BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{data}/nested.json', 'format' = 'json');
SELECT * FROM o;

-- case: json_missing_field_fails
CREATE TABLE o (id BIGINT, nope INT) WITH ('connector' = 'filesystem',
  'path' = '{data}/nested.json', 'format' = 'json', 'json.fail-on-missing-field' = 'true');
SELECT * FROM o;

-- case: json_wrong_type
CREATE TABLE o (id INT, tags INT) WITH (
  'connector' = 'filesystem', 'path' = '{data}/nested.json', 'format' = 'json');
SELECT * FROM o;

-- case: json_wrong_type_ignored
CREATE TABLE o (id INT, tags INT) WITH ('connector' = 'filesystem',
  'path' = '{data}/nested.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
SELECT * FROM o;

-- case: json_nested_as_text
CREATE TABLE o (id STRING, tags STRING, addr STRING) WITH (
  'connector' = 'filesystem', 'path' = '{data}/nested.json', 'format' = 'json');
SELECT * FROM o;

-- case: json_text_as_number
CREATE TABLE o (id STRING, s INT) WITH ('connector' = 'filesystem',
  'path' = '{data}/loose.json', 'format' = 'json');
SELECT * FROM o;

-- case: csv_not_null_column
-- note: a NULL read into a NOT NULL column
CREATE TABLE o (i INT NOT NULL, s STRING) WITH (
  'connector' = 'filesystem', 'path' = '{data}/t1.csv', 'format' = 'csv', 'csv.null-literal' = '');
SELECT * FROM o;

-- case: show_tables
CREATE VIEW w AS SELECT id FROM orders;
SHOW TABLES;

-- case: show_views
CREATE VIEW w AS SELECT id FROM orders;
SHOW VIEWS;

-- case: show_columns
CREATE TABLE o (a INT NOT NULL, b AS a + 1, PRIMARY KEY (a) NOT ENFORCED) WITH (
  'connector' = 'print');
SHOW COLUMNS FROM o;

-- case: show_columns_like
SHOW COLUMNS FROM orders LIKE '%d';

-- case: show_databases
CREATE DATABASE b;
CREATE DATABASE a;
SHOW DATABASES;

-- case: show_current_database
SHOW CURRENT DATABASE;

-- case: show_catalogs
SHOW CATALOGS;

-- case: show_create_view
CREATE VIEW w AS SELECT id FROM t1 CROSS JOIN (VALUES (1)) AS v(id);
SHOW CREATE VIEW w;

-- case: describe_view
CREATE VIEW w AS SELECT id, v + 1 AS w, ts FROM clicks;
DESCRIBE w;

-- case: alter_rename
CREATE TABLE o (a INT) WITH ('connector' = 'print');
ALTER TABLE o RENAME TO p;
SHOW TABLES;

-- case: alter_add_column
CREATE TABLE o (a INT) WITH ('connector' = 'print');
ALTER TABLE o ADD (b STRING, c AS a + 1);
DESCRIBE o;

-- case: alter_drop_column
CREATE TABLE o (a INT, b INT) WITH ('connector' = 'print');
ALTER TABLE o DROP b;
DESCRIBE o;

-- case: use_unknown_database
USE nope;

-- case: drop_database_in_use
CREATE DATABASE d1;
CREATE TABLE d1.o (a INT) WITH ('connector' = 'print');
DROP DATABASE d1;

-- case: drop_database_cascade
CREATE DATABASE d1;
CREATE TABLE d1.o (a INT) WITH ('connector' = 'print');
DROP DATABASE d1 CASCADE;
SHOW DATABASES;

-- case: decimal_too_wide_read
CREATE TABLE o (a DECIMAL(39, 2)) WITH (
  'connector' = 'filesystem', 'path' = '{data}/nothing.csv', 'format' = 'csv');
SELECT * FROM o;

-- case: watermark_emit_on_event
-- note: whether a source of files takes it
CREATE TABLE o (id INT, name STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = '{data}/bridges.csv', 'format' = 'csv',
  'scan.watermark.emit.strategy' = 'on-event');
SELECT COUNT(*) AS n FROM o;

-- case: watermark_emit_hint
SELECT COUNT(*) AS n FROM bridges /*+ OPTIONS('scan.watermark.emit.strategy' = 'on-event') */;

-- case: watermark_idle_timeout
CREATE TABLE o (id INT, name STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = '{data}/bridges.csv', 'format' = 'csv',
  'scan.watermark.idle-timeout' = '1 s');
SELECT COUNT(*) AS n FROM o;

-- case: datagen_watermark_on_event
CREATE TABLE o (a INT, ts AS TO_TIMESTAMP_LTZ(a * 1000, 3),
  WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'fields.a.kind' = 'sequence',
  'fields.a.start' = '1', 'fields.a.end' = '9', 'scan.watermark.emit.strategy' = 'on-event');
SELECT COUNT(*) AS n FROM o HAVING COUNT(*) = 9;

-- case: show_create_table
CREATE TABLE o (a INT NOT NULL COMMENT 'the key', b AS a + 1, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (a) NOT ENFORCED)
COMMENT 'a table' WITH ('connector' = 'print', 'print-identifier' = 'x');
SHOW CREATE TABLE o;

-- case: describe_extended
DESCRIBE EXTENDED orders;

-- case: desc
DESC t1;

-- case: describe_unknown
DESCRIBE nope;

-- case: show_columns_unknown
SHOW COLUMNS FROM nope;

-- case: drop_column_of_key
CREATE TABLE o (a INT, b INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'print');
ALTER TABLE o DROP a;

-- case: alter_set_option
CREATE TABLE o (a INT) WITH ('connector' = 'nope');
ALTER TABLE o SET ('connector' = 'datagen', 'number-of-rows' = '3');
SELECT COUNT(*) AS n FROM o HAVING COUNT(*) = 3;

-- case: alter_modify_watermark
CREATE TABLE o LIKE clicks;
ALTER TABLE o MODIFY WATERMARK FOR ts AS ts - INTERVAL '1' HOUR;
DESCRIBE o;

-- case: alter_add_primary_key
CREATE TABLE o (a INT NOT NULL, b INT) WITH ('connector' = 'print');
ALTER TABLE o ADD PRIMARY KEY (a) NOT ENFORCED;
DESCRIBE o;

-- case: add_primary_key_of_nullable
CREATE TABLE o (a INT, b INT) WITH ('connector' = 'print');
ALTER TABLE o ADD PRIMARY KEY (a) NOT ENFORCED;
DESCRIBE o;

-- case: function_unknown_class
CREATE FUNCTION f AS 'nope.Nope';
SELECT f(1);

-- case: drop_function_unknown
DROP FUNCTION nope;

-- case: show_create_catalog
CREATE CATALOG shop COMMENT 'the ''shop''' WITH (
  'type' = 'generic_in_memory', 'default-database' = 'main');
SHOW CREATE CATALOG shop;

-- case: describe_catalog
CREATE CATALOG shop COMMENT 'the shop' WITH (
  'type' = 'generic_in_memory', 'default-database' = 'main');
DESCRIBE CATALOG EXTENDED shop;

-- case: alter_catalog
CREATE CATALOG shop WITH ('type' = 'generic_in_memory', 'default-database' = 'main');
ALTER CATALOG shop SET ('default-database' = 'other');
ALTER CATALOG shop COMMENT 'changed';
DESCRIBE CATALOG EXTENDED shop;

-- case: alter_catalog_type
CREATE CATALOG shop WITH ('type' = 'generic_in_memory');
ALTER CATALOG shop RESET ('type');

-- case: catalog_unknown_option
CREATE CATALOG shop WITH ('type' = 'generic_in_memory', 'nope' = '1');

-- case: show_databases_of_path
SHOW DATABASES FROM default_catalog.default_database;

-- case: like_excluding_partitions
CREATE TABLE a (i INT, d STRING) PARTITIONED BY (d) WITH ('connector' = 'print');
CREATE TABLE b LIKE a (EXCLUDING PARTITIONS);
SHOW CREATE TABLE b;

-- case: show_create_table_function_names
CREATE TABLE o (s STRING, u AS upper(coalesce(s, 'x'))) WITH ('connector' = 'datagen');
SHOW CREATE TABLE o;

-- case: describe_function
DESCRIBE FUNCTION `abs`;

-- case: show_modules
SHOW FULL MODULES;

-- case: show_materialized_tables
SHOW MATERIALIZED TABLES;

-- case: watermark_alignment
CREATE TABLE o (id INT, name STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = '{data}/bridges.csv', 'format' = 'csv',
  'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min');
SELECT COUNT(*) AS n FROM o;

-- case: watermark_alignment_hint
SELECT COUNT(*) AS n FROM bridges /*+ OPTIONS('scan.watermark.alignment.group' = 'g',
  'scan.watermark.alignment.max-drift' = '1 min',
  'scan.watermark.alignment.update-interval' = '1 s') */;

-- case: watermark_alignment_without_drift
SELECT COUNT(*) AS n FROM bridges /*+ OPTIONS('scan.watermark.alignment.group' = 'g') */;

-- case: watermark_alignment_without_group
SELECT COUNT(*) AS n FROM orders /*+ OPTIONS('scan.watermark.alignment.max-drift' = '1 s') */;

-- case: watermark_unknown_option
SELECT COUNT(*) AS n FROM bridges /*+ OPTIONS('scan.watermark.emit.on-event.gap' = '3') */;
