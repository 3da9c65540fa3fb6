-- Queries inside expressions, over constants: a value, a list of values, whether there is a row.

-- case: scalar_of_values
-- order: folded
SELECT id, (SELECT MAX(x) FROM (VALUES (10), (15)) AS t(x)) AS m FROM orders WHERE id < 3;

-- case: scalar_without_rows
-- order: folded
SELECT id, (SELECT x FROM (VALUES (1)) AS t(x) WHERE x > 5) AS m FROM orders WHERE id < 3;

-- case: scalar_without_from
-- order: folded
SELECT (SELECT 1) + (SELECT 2) AS three;

-- case: scalar_of_text
-- order: folded
SELECT id FROM orders WHERE k = (SELECT MIN(x) FROM (VALUES ('b'), ('c')) AS t(x));

-- case: scalar_compared
-- order: folded
SELECT id FROM orders WHERE v >= (SELECT AVG(x) FROM (VALUES (10), (21)) AS t(x));

-- case: scalar_count
-- order: folded
SELECT id, (SELECT COUNT(*) FROM (VALUES (1), (2), (2)) AS t(x)) AS n FROM orders WHERE id = 1;

-- case: scalar_of_group
-- order: folded
SELECT id, (SELECT SUM(y) FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) AS t(x, y) GROUP BY x
  HAVING COUNT(*) = 2) AS s FROM orders WHERE id = 1;

-- case: scalar_type_of_decimal
-- show: schema
SELECT (SELECT CAST(1.5 AS DECIMAL(10, 2))) AS d, (SELECT 'abc') AS s, (SELECT TRUE) AS b,
  (SELECT DATE '2026-01-01') AS `day`, (SELECT TIMESTAMP '2026-01-01 10:11:12.123') AS ts
FROM orders;

-- case: scalar_in_aggregate
-- order: folded
SELECT k, SUM(v * (SELECT 2)) AS s FROM orders GROUP BY k;

-- case: scalar_beside_aggregate
-- order: folded
SELECT k, COUNT(*) + (SELECT 100) AS n FROM orders GROUP BY k;

-- case: scalar_in_having
-- order: folded
SELECT k, COUNT(*) AS n FROM orders GROUP BY k HAVING COUNT(*) > (SELECT 1);

-- case: scalar_of_cte
-- order: folded
WITH c AS (SELECT 7 AS x) SELECT id FROM orders WHERE v = (SELECT x FROM c);

-- case: scalar_two_columns
SELECT (SELECT 1, 2) AS x FROM orders;

-- case: in_values
-- order: folded
SELECT id FROM orders WHERE k IN (SELECT x FROM (VALUES ('a'), ('d')) AS t(x));

-- case: in_empty
-- order: folded
SELECT id FROM orders WHERE v IN (SELECT x FROM (VALUES (10), (20)) AS t(x) WHERE x > 100);

-- case: in_with_null
-- order: folded
SELECT id FROM orders
WHERE v IN (SELECT x FROM (VALUES (10), (CAST(NULL AS INT))) AS t(x));

-- case: not_in_values
-- order: folded
SELECT id FROM orders WHERE v NOT IN (SELECT x FROM (VALUES (10), (20)) AS t(x));

-- case: not_in_with_null
-- order: folded
SELECT id FROM orders
WHERE v NOT IN (SELECT x FROM (VALUES (10), (CAST(NULL AS INT))) AS t(x));

-- case: not_in_empty
-- order: folded
SELECT id FROM orders
WHERE v NOT IN (SELECT x FROM (VALUES (10), (20)) AS t(x) WHERE x > 100);

-- case: in_wider_type
-- order: folded
SELECT id FROM orders WHERE v IN (SELECT x FROM (VALUES (10.0), (20.5)) AS t(x));

-- case: in_selected
-- order: folded
SELECT id, v IN (SELECT x FROM (VALUES (10), (20)) AS t(x)) AS found FROM orders WHERE id < 5;

-- case: in_two_columns_of_query
SELECT id FROM orders WHERE v IN (SELECT x, y FROM (VALUES (10, 1)) AS t(x, y));

-- case: row_in_values
-- order: folded
SELECT id FROM orders WHERE (k, v) IN (SELECT x, y FROM (VALUES ('a', 10), ('b', 15)) AS t(x, y));

-- case: row_in_list
SELECT id FROM orders WHERE (k, v) IN (('a', 10), ('b', 15));

-- case: row_not_in_list
SELECT id FROM orders WHERE (k, v) NOT IN (('a', 10), ('b', 15));

-- case: in_union
-- order: folded
SELECT id FROM orders WHERE v IN (SELECT 10 UNION ALL SELECT 15 UNION SELECT 10);

-- case: in_values_bare
-- order: folded
SELECT id FROM orders WHERE v IN (VALUES 10, 15);

-- case: in_texts_of_lengths
SELECT id, k IN ('a', 'bbb') AS found FROM orders WHERE id < 4;

-- case: in_null_constant
SELECT id, v IN (10, NULL) AS found FROM orders WHERE id < 5;

-- case: not_in_null_constant
SELECT id FROM orders WHERE v NOT IN (10, CAST(NULL AS INT));

-- case: exists_none
-- order: folded
SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM (VALUES (1)) AS t(x) WHERE x > 1);

-- case: not_exists
-- order: folded
SELECT id FROM orders WHERE NOT EXISTS (SELECT 1 FROM (VALUES (1)) AS t(x) WHERE x > 1) AND id < 3;

-- case: exists_of_aggregate
-- order: folded
SELECT id FROM orders WHERE EXISTS (SELECT MAX(x) FROM (VALUES (1)) AS t(x) WHERE x > 1) AND id < 3;

-- case: quantified_any
-- order: folded
SELECT id FROM orders WHERE v = ANY (SELECT x FROM (VALUES (10), (15)) AS t(x));

-- case: quantified_some_greater
-- order: folded
SELECT id FROM orders WHERE v > SOME (SELECT x FROM (VALUES (10), (15)) AS t(x));

-- case: quantified_all
-- order: folded
SELECT id FROM orders WHERE v > ALL (SELECT x FROM (VALUES (10), (15)) AS t(x));

-- case: quantified_all_list
SELECT id FROM orders WHERE v > ALL (10, 15);

-- case: correlated_values
-- order: folded
SELECT id FROM orders AS o WHERE EXISTS (SELECT 1 FROM (VALUES (10), (15)) AS t(x) WHERE x = o.v);

-- case: scalar_of_table
-- mode: batch
SELECT id FROM orders WHERE v = (SELECT MAX(v) FROM orders);

-- case: in_table
-- mode: batch
SELECT id FROM orders WHERE v IN (SELECT i FROM t1);

-- case: scalar_limit
-- order: folded
SELECT id, (SELECT x FROM (VALUES (3), (1), (2)) AS t(x) ORDER BY x LIMIT 1) AS s FROM orders
WHERE id = 1;

-- case: scalar_of_unnest
-- order: folded
SELECT id FROM orders WHERE v IN (SELECT e FROM UNNEST(ARRAY[5, 7]) AS u(e));
