-- INSERT: implicit casts, NOT NULL, lengths, column lists, statement sets, changelogs into sinks.

-- case: into_csv
CREATE TABLE o (a INT, b STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: into_csv_null
-- note: written as an empty field, read as an empty text
CREATE TABLE o (a INT, b STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id IN (1, 5);
SELECT * FROM o;

-- case: into_json
CREATE TABLE o (a INT, t ARRAY<STRING>, m MAP<STRING, INT>, r ROW<city STRING, zip INT>) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'json');
INSERT INTO o SELECT id, tags, attrs, addr FROM nested;
SELECT * FROM o;

-- case: json_every_kind
-- note: what is written is read again
CREATE TABLE p WITH ('connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'json')
LIKE kinds (EXCLUDING OPTIONS);
INSERT INTO p SELECT * FROM kinds;
SELECT * FROM p;

-- case: json_lines
CREATE TABLE o WITH ('connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'json')
LIKE kinds (EXCLUDING OPTIONS);
CREATE TABLE lines (line STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'raw');
INSERT INTO o SELECT * FROM kinds;
SELECT * FROM lines;

-- case: csv_lines
CREATE TABLE o WITH ('connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
LIKE kinds (EXCLUDING OPTIONS);
CREATE TABLE lines (line STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'raw');
INSERT INTO o SELECT * FROM kinds;
SELECT * FROM lines;

-- case: csv_quoting_lines
CREATE TABLE o (a STRING, b STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
CREATE TABLE lines (line STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'raw');
INSERT INTO o VALUES ('a,b', 'say "x"'), ('', ' padded '), ('two words', ';');
SELECT * FROM lines;

-- case: values
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o VALUES (1, 'a'), (2, CAST(NULL AS STRING));

-- case: values_bare_null
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o VALUES (1, 'a'), (2, NULL);

-- case: print_of_changelog
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE id < 8 GROUP BY k;

-- case: print_identifier
CREATE TABLE o (a INT) WITH ('connector' = 'print', 'print-identifier' = 'mine');
INSERT INTO o SELECT id FROM orders WHERE id < 3;

-- case: print_every_kind
CREATE TABLE o WITH ('connector' = 'print') LIKE kinds (EXCLUDING OPTIONS);
INSERT INTO o SELECT * FROM kinds;

-- case: print_nested
CREATE TABLE o WITH ('connector' = 'print') LIKE nested (EXCLUDING OPTIONS);
INSERT INTO o SELECT * FROM nested;

-- case: print_numbers
CREATE TABLE o WITH ('connector' = 'print') LIKE numbers (EXCLUDING OPTIONS);
INSERT INTO o SELECT * FROM numbers;

-- case: print_with_primary_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: print_other_primary_key
-- mode: streaming
-- note: the sink's key is not the query's
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: null_into_primary_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: primary_key_from_changelog
-- mode: streaming
CREATE TABLE o (id INT, k STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT id, k FROM changes_pk;

-- case: changelog_into_csv
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: changelog_source_into_csv
-- mode: streaming
CREATE TABLE o (id INT, k STRING, v INT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT * FROM changes;

-- case: distinct_into_csv
-- note: it only adds rows, and yet Flink expects updates of it
CREATE TABLE o (k STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv', 'csv.null-literal' = 'n/a');
INSERT INTO o SELECT DISTINCT k FROM orders;

-- case: group_without_aggregate_into_csv
CREATE TABLE o (k STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv', 'csv.null-literal' = 'n/a');
INSERT INTO o SELECT k FROM orders GROUP BY k;

-- case: window_into_csv
CREATE TABLE o (s TIMESTAMP(3), n BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT window_start, COUNT(*)
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '30' SECOND))
GROUP BY window_start, window_end;
SELECT * FROM o;

-- case: changelog_into_debezium
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'debezium-json');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE id < 8 GROUP BY k;
SELECT * FROM o;

-- case: debezium_lines
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'debezium-json');
CREATE TABLE lines (line STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'raw');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE id < 8 GROUP BY k;
SELECT * FROM lines;

-- case: blackhole
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, COUNT(*) FROM orders GROUP BY k;

-- case: column_list
CREATE TABLE o (a INT, b STRING, c DOUBLE) WITH ('connector' = 'print');
INSERT INTO o (c, a) SELECT score, id FROM orders WHERE id < 3;

-- case: column_list_unknown
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o (a, nope) SELECT id, k FROM orders;

-- case: column_list_twice
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o (a, a) SELECT id, v FROM orders;

-- case: column_list_too_short
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o (a) SELECT id, k FROM orders;

-- case: column_list_leaves_out_not_null
CREATE TABLE o (a INT, b STRING NOT NULL) WITH ('connector' = 'print');
INSERT INTO o (a) SELECT id FROM orders;

-- case: by_position_not_name
CREATE TABLE o (v INT, id INT) WITH ('connector' = 'print');
INSERT INTO o SELECT id, v FROM orders WHERE id < 3;

-- case: too_few_columns
CREATE TABLE o (a INT, b STRING) WITH ('connector' = 'print');
INSERT INTO o SELECT id FROM orders;

-- case: too_many_columns
CREATE TABLE o (a INT) WITH ('connector' = 'print');
INSERT INTO o SELECT id, k FROM orders;

-- case: int_into_bigint
CREATE TABLE o (a BIGINT, b DOUBLE, c DECIMAL(10, 2)) WITH ('connector' = 'print');
INSERT INTO o SELECT id, id, id FROM orders WHERE id < 3;

-- case: bigint_into_int
-- note: narrowed, as it seems
CREATE TABLE o (a INT) WITH ('connector' = 'print');
INSERT INTO o SELECT bi FROM numbers WHERE bi IS NOT NULL;

-- case: double_into_int
CREATE TABLE o (a INT) WITH ('connector' = 'print');
INSERT INTO o SELECT d FROM numbers;

-- case: decimal_into_narrower
CREATE TABLE o (a DECIMAL(4, 1)) WITH ('connector' = 'print');
INSERT INTO o SELECT de FROM numbers;

-- case: decimal_into_too_narrow
CREATE TABLE o (a DECIMAL(2, 1)) WITH ('connector' = 'print');
INSERT INTO o SELECT de FROM numbers;

-- case: string_into_int
CREATE TABLE o (a INT) WITH ('connector' = 'print');
INSERT INTO o SELECT k FROM orders;

-- case: int_into_string
CREATE TABLE o (a STRING) WITH ('connector' = 'print');
INSERT INTO o SELECT id FROM orders;

-- case: boolean_into_string
CREATE TABLE o (a STRING) WITH ('connector' = 'print');
INSERT INTO o SELECT flag FROM orders;

-- case: date_into_timestamp
CREATE TABLE o (a TIMESTAMP(3)) WITH ('connector' = 'print');
INSERT INTO o SELECT `day` FROM orders WHERE id < 3;

-- case: timestamp_into_date
CREATE TABLE o (a DATE) WITH ('connector' = 'print');
INSERT INTO o SELECT ts FROM kinds;

-- case: timestamp_into_ltz
-- set: table.local-time-zone = Europe/Berlin
CREATE TABLE o (a TIMESTAMP_LTZ(3)) WITH ('connector' = 'print');
INSERT INTO o SELECT ts FROM kinds;

-- case: timestamp_precision_less
CREATE TABLE o (a TIMESTAMP(0)) WITH ('connector' = 'print');
INSERT INTO o SELECT ts FROM kinds;

-- case: string_into_varchar
-- note: too long for the column, and let through
CREATE TABLE o (a VARCHAR(2)) WITH ('connector' = 'print');
INSERT INTO o VALUES ('abc'), ('a');

-- case: string_into_varchar_trimmed
-- set: table.exec.sink.type-length-enforcer = TRIM_PAD
CREATE TABLE o (a VARCHAR(2), b CHAR(3)) WITH ('connector' = 'print');
INSERT INTO o VALUES ('abc', 'x'), ('a', 'wxyz');

-- case: string_into_varchar_error
-- set: table.exec.sink.type-length-enforcer = ERROR
CREATE TABLE o (a VARCHAR(2)) WITH ('connector' = 'print');
INSERT INTO o SELECT k || 'bc' FROM orders WHERE id < 3;

-- case: string_into_char
CREATE TABLE o (a CHAR(3)) WITH ('connector' = 'print');
INSERT INTO o SELECT k FROM orders WHERE id < 3;

-- case: null_into_not_null
CREATE TABLE o (a INT NOT NULL) WITH ('connector' = 'print');
INSERT INTO o SELECT v FROM orders;

-- case: null_into_not_null_dropped
-- set: table.exec.sink.not-null-enforcer = DROP
CREATE TABLE o (id INT, a INT NOT NULL) WITH ('connector' = 'print');
INSERT INTO o SELECT id, v FROM orders WHERE id BETWEEN 3 AND 9;

-- case: null_literal_into_not_null
CREATE TABLE o (a INT NOT NULL) WITH ('connector' = 'print');
INSERT INTO o SELECT CAST(NULL AS INT);

-- case: row_into_row
CREATE TABLE o (r ROW<a STRING, b BIGINT>) WITH ('connector' = 'print');
INSERT INTO o SELECT addr FROM nested;

-- case: into_unknown_table
INSERT INTO nope SELECT id FROM orders;

-- case: into_view
CREATE VIEW w AS SELECT id FROM orders;
INSERT INTO w SELECT 1;

-- case: into_computed_column
CREATE TABLE o (a INT, b AS a + 1) WITH ('connector' = 'print');
INSERT INTO o SELECT id FROM orders WHERE id < 3;

-- case: computed_column_in_list
CREATE TABLE o (a INT, b AS a + 1) WITH ('connector' = 'print');
INSERT INTO o (a, b) SELECT id, v FROM orders;

-- case: into_virtual_metadata
CREATE TABLE o (a INT, f STRING METADATA FROM 'file.name' VIRTUAL) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id FROM orders WHERE id < 3;
SELECT a FROM o;

-- case: partitioned
-- order: bag
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT id, k FROM orders WHERE id < 5;
SELECT * FROM o;

-- case: partition_named
-- order: bag
CREATE TABLE o (a INT, k STRING) PARTITIONED BY (k) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o PARTITION (k = 'x') SELECT id FROM orders WHERE id < 4;
SELECT * FROM o WHERE k = 'x';

-- case: overwrite
-- mode: batch
CREATE TABLE o (a INT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o VALUES (1), (2);
INSERT OVERWRITE o VALUES (3);
SELECT * FROM o;

-- case: overwrite_in_stream
-- mode: streaming
CREATE TABLE o (a INT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT OVERWRITE o VALUES (3);

-- case: twice_appends
-- order: bag
CREATE TABLE o (a INT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o VALUES (1);
INSERT INTO o VALUES (2);
SELECT * FROM o;

-- case: statement_set
-- order: bag
CREATE TABLE o (a INT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
CREATE TABLE p (k STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/p', 'format' = 'csv');
EXECUTE STATEMENT SET BEGIN
INSERT INTO o SELECT id FROM orders WHERE id < 3;
INSERT INTO p SELECT k FROM orders WHERE v = 20;
END;
SELECT CAST(a AS STRING) AS x FROM o UNION ALL SELECT k FROM p;

-- case: statement_set_refused
-- mode: streaming
CREATE TABLE o (a INT) WITH ('connector' = 'print');
CREATE TABLE p (k STRING, n BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/p', 'format' = 'csv');
EXECUTE STATEMENT SET BEGIN
INSERT INTO o SELECT id FROM orders;
INSERT INTO p SELECT k, COUNT(*) FROM orders GROUP BY k;
END;

-- case: statement_set_with_select
CREATE TABLE o (a INT) WITH ('connector' = 'print');
EXECUTE STATEMENT SET BEGIN
INSERT INTO o SELECT id FROM orders;
SELECT 1;
END;

-- case: create_table_as_select
CREATE TABLE o WITH ('connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv')
AS SELECT id, k AS name, v + 1 AS w FROM orders WHERE id < 4;
SELECT * FROM o;

-- case: update_statement
UPDATE orders SET v = 1 WHERE id = 1;

-- case: delete_statement
DELETE FROM orders WHERE id = 1;

-- case: conflict_deduplicate
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k
ON CONFLICT DO DEDUPLICATE;

-- case: conflict_nothing
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k
ON CONFLICT DO NOTHING;

-- case: conflict_error
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k
ON CONFLICT DO ERROR;

-- case: conflict_without_upsert_key
-- mode: streaming
-- note: rows that are only added, into a table with a key
CREATE TABLE o (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, v FROM orders WHERE k IS NOT NULL AND id < 8;

-- case: conflict_without_upsert_key_deduplicate
-- mode: streaming
CREATE TABLE o (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, v FROM orders WHERE k IS NOT NULL AND id < 8 ON CONFLICT DO DEDUPLICATE;

-- case: conflict_of_same_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k
ON CONFLICT DO DEDUPLICATE;

-- case: conflict_in_batch
-- mode: batch
CREATE TABLE o (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, v FROM orders WHERE k IS NOT NULL AND id < 4;

-- case: key_of_upsert_materialize_forced
-- mode: streaming
-- set: table.exec.sink.upsert-materialize = FORCE
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k;

-- case: changelog_into_unkeyed_sink_of_changed_key
-- mode: streaming
-- note: the query's key is not selected
CREATE TABLE o (n BIGINT) WITH ('connector' = 'print');
INSERT INTO o SELECT COUNT(*) FROM orders WHERE id < 8 GROUP BY k;

-- case: with_ttl_distinct_into_csv
-- mode: streaming
-- set: table.exec.state.ttl = 1 d
CREATE TABLE o (k STRING) WITH (
  'connector' = 'filesystem', 'path' = '{folder}/o', 'format' = 'csv');
INSERT INTO o SELECT DISTINCT k FROM orders;

-- case: conflict_of_added_rows_without_key
-- mode: streaming
CREATE TABLE o (k STRING, v INT) WITH ('connector' = 'print');
INSERT INTO o SELECT k, v FROM orders ON CONFLICT DO DEDUPLICATE;

-- case: conflict_of_changes_without_key
-- mode: streaming
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE id < 8 GROUP BY k ON CONFLICT DO DEDUPLICATE;

-- case: conflict_nothing_of_same_key
-- mode: streaming
CREATE TABLE o (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) WITH (
  'connector' = 'print');
INSERT INTO o SELECT name, COUNT(*) FROM bridges WHERE name IS NOT NULL GROUP BY name
ON CONFLICT DO NOTHING;

-- case: conflict_nothing_in_batch
-- mode: batch
CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'print');
INSERT INTO o SELECT k, COUNT(*) FROM orders WHERE k IS NOT NULL AND id < 8 GROUP BY k
ON CONFLICT DO NOTHING;
