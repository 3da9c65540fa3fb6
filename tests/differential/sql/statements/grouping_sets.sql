-- GROUPING SETS, ROLLUP, CUBE.

-- case: sets
-- order: by k, flag
SELECT k, flag, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((k), (flag), ());

-- case: sets_order_of_a_row
-- note: the order in which one row reaches its sets
SELECT k, flag, COUNT(*) AS n FROM orders WHERE id = 1 GROUP BY GROUPING SETS ((k, flag), (k), ());

-- case: rollup
-- order: by k, flag
SELECT k, flag, COUNT(*) AS n, SUM(v) AS s FROM orders GROUP BY ROLLUP (k, flag);

-- case: cube
-- order: by k, flag
SELECT k, flag, SUM(v) AS s FROM orders WHERE k IS NOT NULL AND flag IS NOT NULL
GROUP BY CUBE (k, flag);

-- case: grouping
-- order: by k, flag, gk, gf
SELECT k, flag, GROUPING(k) AS gk, GROUPING(flag) AS gf, COUNT(*) AS n
FROM orders GROUP BY GROUPING SETS ((k), (flag));

-- case: grouping_id
-- order: by k, flag, g
SELECT k, flag, GROUPING_ID(k, flag) AS g, COUNT(*) AS n FROM orders GROUP BY CUBE (k, flag);

-- case: group_id
-- order: by k, g
SELECT k, GROUP_ID() AS g, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((k), ());

-- case: same_set_twice
-- order: folded
-- note: Flink has an aggregation for each of the two sets, whose rows come in any order
SELECT k, COUNT(*) AS n FROM orders WHERE id < 4 GROUP BY GROUPING SETS ((k), (k));

-- case: grouping_in_plain_group_by
SELECT k, GROUPING(k) AS g, COUNT(*) AS n FROM orders GROUP BY k;

-- case: grouping_of_not_a_key
SELECT k, GROUPING(v) FROM orders GROUP BY ROLLUP (k);

-- case: having_grouping
-- order: by k
SELECT k, COUNT(*) AS n FROM orders GROUP BY ROLLUP (k) HAVING GROUPING(k) = 0;

-- case: with_distinct
-- order: by k, flag
SELECT k, flag, COUNT(DISTINCT v) AS n FROM orders GROUP BY ROLLUP (k, flag);

-- case: with_filter
-- order: by k
SELECT k, SUM(v) FILTER (WHERE flag) AS s, MAX(v) AS m FROM orders GROUP BY ROLLUP (k);

-- case: composite_elements
-- order: by k, flag, day
SELECT k, flag, `day`, COUNT(*) AS n FROM orders WHERE id < 7 GROUP BY ROLLUP ((k, flag), `day`);

-- case: key_and_sets
-- order: by k, flag
SELECT k, flag, COUNT(*) AS n FROM orders GROUP BY k, ROLLUP (flag);

-- case: two_rollups
-- order: by k, flag
SELECT k, flag, COUNT(*) AS n FROM orders WHERE id < 5 GROUP BY ROLLUP (k), ROLLUP (flag);

-- case: only_empty_set
SELECT COUNT(*) AS n FROM orders GROUP BY GROUPING SETS (());

-- case: empty_input
SELECT k, COUNT(*) AS n FROM nothing GROUP BY ROLLUP (k);

-- case: retracting_input
-- mode: streaming
-- order: by k
SELECT k, SUM(v) AS s, COUNT(*) AS n FROM changes GROUP BY ROLLUP (k);

-- case: key_used_in_aggregate
-- order: by k
-- note: an aggregate sees the value of a key also where the set leaves the key out
SELECT k, MAX(k) AS m, COUNT(k) AS n FROM orders GROUP BY ROLLUP (k);

-- case: nullability_of_keys
-- order: by x
SELECT x, COUNT(*) AS n FROM (VALUES (1), (2), (1)) AS t(x) GROUP BY ROLLUP (x);

-- case: expression_key
-- order: by d
SELECT v / 10 AS d, COUNT(*) AS n FROM orders GROUP BY ROLLUP (v / 10);

-- case: sets_smaller_first
-- note: a set comes before its parts, however they are written
SELECT GROUPING(k) AS g, k, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((), (k));

-- case: sets_in_the_order_of_columns
SELECT flag, k, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((flag), (k));

-- case: cube_in_the_order_of_columns
-- mode: streaming
SELECT s, ARRAY_AGG(s) AS a FROM t2 GROUP BY CUBE (s, i);

-- case: sets_of_what_is_computed
SELECT v + 1 AS w, k, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((v + 1), (k));

-- case: cube_of_a_view
SELECT b, a, SUM(c) AS s FROM (SELECT k AS a, flag AS b, v AS c FROM orders) GROUP BY CUBE (b, a);

-- case: not_null_in_each_set
-- mode: streaming
SELECT x, SUM(y), MAX(y), AVG(DISTINCT y), LISTAGG(s)
  FROM (VALUES (1, 2, 'a'), (1, 3, 'b')) AS t(x, y, s) GROUP BY CUBE (x);
