-- VALUES, CTEs, views, subqueries over constants, hints.

-- case: values
VALUES (1, 'a'), (2, 'b');

-- case: values_of_several_types
-- order: bag
-- note: the common type of each column; text of different lengths is padded or not
SELECT * FROM (VALUES (1, 'a', 1.5), (CAST(20000000000 AS BIGINT), 'bcd', 2.25)) AS t(x, y, z);

-- case: values_with_null
-- order: bag
SELECT * FROM (VALUES (1, CAST(NULL AS STRING)), (CAST(NULL AS INT), 'x')) AS t(x, y);

-- case: values_bare_null
SELECT * FROM (VALUES (1, NULL), (2, NULL)) AS t(x, y);

-- case: values_unnamed
SELECT * FROM (VALUES (1, 'a'));

-- case: values_expressions
SELECT x + y AS s FROM (VALUES (1, 2), (1 + 2, ABS(-4))) AS t(x, y);

-- case: values_different_lengths
VALUES (1, 2), (3);

-- case: values_incompatible
SELECT * FROM (VALUES (1), ('a')) AS t(x);

-- case: values_row
SELECT r.x, r FROM (VALUES (CAST(ROW(1, 'a') AS ROW<x INT, y STRING>))) AS t(r);

-- case: cte
WITH big AS (SELECT id, v FROM orders WHERE v > 10) SELECT COUNT(*) AS n, SUM(v) AS s FROM big;

-- case: cte_two
WITH a AS (SELECT id, k, v FROM orders WHERE v > 0), b AS (SELECT k, SUM(v) AS s FROM a GROUP BY k)
SELECT * FROM b WHERE s > 20;

-- case: cte_with_names
WITH a (x, y) AS (SELECT id, k FROM orders) SELECT y, x FROM a WHERE x < 4;

-- case: cte_used_twice
-- order: bag
WITH a AS (SELECT id FROM orders WHERE id < 3) SELECT id FROM a UNION ALL SELECT id + 100 FROM a;

-- case: cte_hides_table
WITH orders AS (SELECT 1 AS id) SELECT * FROM orders;

-- case: cte_recursive
WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 3) SELECT * FROM a;

-- case: view
CREATE VIEW positive AS SELECT id, k, v FROM orders WHERE v > 0;
SELECT k, MAX(v) AS m FROM positive GROUP BY k;

-- case: view_with_names
CREATE VIEW named (x, y) AS SELECT id, k FROM orders;
SELECT y FROM named WHERE x = 2;

-- case: view_of_view
CREATE TEMPORARY VIEW a AS SELECT id, v FROM orders WHERE v IS NOT NULL;
CREATE TEMPORARY VIEW b AS SELECT id, v * 2 AS w FROM a;
SELECT * FROM b WHERE w > 30;

-- case: view_twice
CREATE VIEW a AS SELECT 1 AS x;
CREATE VIEW a AS SELECT 2 AS x;

-- case: view_if_not_exists
CREATE VIEW a AS SELECT 1 AS x;
CREATE VIEW IF NOT EXISTS a AS SELECT 2 AS x;
SELECT * FROM a;

-- case: view_of_unknown
CREATE VIEW a AS SELECT nope FROM orders;

-- case: view_wrong_number_of_names
CREATE VIEW a (x, y) AS SELECT id FROM orders;

-- case: view_dropped
CREATE VIEW a AS SELECT 1 AS x;
DROP VIEW a;
SELECT * FROM a;

-- case: view_keeps_time_attribute
-- show: schema
CREATE VIEW a AS SELECT id, ts FROM clicks;
SELECT * FROM a;

-- case: scalar_subquery_constant
-- order: folded
SELECT id, (SELECT 5) AS five FROM orders WHERE id < 3;

-- case: scalar_subquery_values
-- order: folded
SELECT id, v > (SELECT MAX(x) FROM (VALUES (10), (15)) AS t(x)) AS big FROM orders WHERE id < 4;

-- case: scalar_subquery_in_where
-- order: folded
SELECT id FROM orders WHERE v = (SELECT 10);

-- case: in_subquery_of_values
-- order: folded
SELECT id FROM orders WHERE v IN (SELECT x FROM (VALUES (10), (20)) AS t(x));

-- case: in_many_constants
-- note: more than a few constants become a join or a set
SELECT id FROM orders WHERE v IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
  20, 21, 22, 23, 24);

-- case: in_other_type
SELECT id FROM orders WHERE v IN (10, 20.0, 5.5);

-- case: in_strings
SELECT id FROM orders WHERE k IN ('a', 'bb', 'c ');

-- case: row_in
SELECT id FROM orders WHERE (k, v) IN (('a', 10), ('b', 20));

-- case: exists_values
-- order: folded
SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM (VALUES (1)) AS t(x)) AND id < 3;

-- case: database_qualified
SELECT id FROM default_catalog.default_database.orders WHERE id = 1;

-- case: other_database
CREATE DATABASE other;
USE other;
CREATE VIEW v1 AS SELECT 1 AS x;
SELECT * FROM other.v1;

-- case: other_database_quoted
CREATE DATABASE other;
CREATE VIEW other.v1 AS SELECT 1 AS x;
SELECT * FROM default_catalog.other.v1;

-- case: hint_options
SELECT id FROM orders /*+ OPTIONS('csv.ignore-parse-errors' = 'true') */ WHERE id < 3;

-- case: hint_options_unknown
SELECT id FROM orders /*+ OPTIONS('nope' = 'true') */;

-- case: hint_unknown
SELECT /*+ NOPE(orders) */ id FROM orders;

-- case: hint_of_table_unknown
SELECT id FROM orders /*+ OPTION('csv.ignore-parse-errors' = 'true') */;

-- case: hint_of_join_without_join
SELECT /*+ BROADCAST(orders), SHUFFLE_HASH(orders) */ id FROM orders WHERE id < 3;

-- case: hint_options_change_format
-- note: the same file, read with another separator
SELECT id, k
FROM orders /*+ OPTIONS('csv.field-delimiter' = ';', 'csv.ignore-parse-errors' = 'true') */;

-- case: proctime_type
-- show: schema
SELECT PROCTIME() AS p, CURRENT_TIMESTAMP AS c, LOCALTIMESTAMP AS l, CURRENT_DATE AS d, NOW() AS n,
  CURRENT_TIME AS t
FROM orders;

-- case: rowtime_type
-- show: schema
SELECT ts, ts + INTERVAL '1' SECOND AS later, CAST(ts AS TIMESTAMP(3)) AS plain FROM clicks;

-- case: rowtime_value
SELECT ts FROM clicks WHERE id < 3;

-- case: rowtime_group_key
-- order: by ts
SELECT ts, COUNT(*) AS n FROM clicks GROUP BY ts;

-- case: max_of_rowtime
-- show: schema
SELECT MAX(ts) AS m, MIN(ts) AS l FROM clicks;

-- case: max_of_rowtime_rows
SELECT MAX(ts) AS m FROM clicks;

-- case: current_watermark
SELECT id, CURRENT_WATERMARK(ts) AS w FROM clicks WHERE id < 8;

-- case: filter_by_current_watermark
SELECT id FROM late_clicks WHERE CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts);

-- case: in_decimal_and_bigint
SELECT id FROM orders WHERE v IN (10.6) OR big IN (100, 200.7);

-- case: not_in_other_type
SELECT id FROM orders WHERE v NOT IN (10, 20.5);

-- case: in_columns_of_other_types
SELECT id FROM orders WHERE v IN (id, 10.5) OR v + 1 IN (21.5, 11);

-- case: in_numbers_for_a_text
SELECT id FROM orders WHERE k IN (1, 2);

-- case: in_price
SELECT id FROM orders WHERE price IN (5.254, 10);

-- case: values_of_rows
VALUES (ROW(1, 'a')), (ROW(2, 'b'));
