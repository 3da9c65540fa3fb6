-- Aggregates beyond sums and counts, and groups of rows by values with parts.

-- case: json_objectagg_order
-- mode: streaming
-- order: folded
SELECT JSON_OBJECTAGG(KEY k VALUE v) AS j
FROM (VALUES ('b', 1), ('a', 2), ('zz', 3), ('aa', 4), ('B', 5)) AS t(k, v);

-- case: json_objectagg_absent
-- mode: streaming
SELECT k, JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE v ABSENT ON NULL) AS j FROM orders
WHERE id < 9 GROUP BY k;

-- case: json_objectagg_same_key
-- mode: streaming
SELECT flag, JSON_OBJECTAGG(KEY k VALUE id) AS j FROM orders WHERE k IS NOT NULL GROUP BY flag;

-- case: json_objectagg_of_texts
-- mode: streaming
-- order: folded
SELECT JSON_OBJECTAGG(KEY k VALUE w) AS j
FROM (VALUES ('a', 'x"y'), ('b', 'é'), ('c', CAST(NULL AS STRING))) AS t(k, w);

-- case: json_objectagg_of_kinds
-- mode: streaming
-- order: folded
SELECT JSON_OBJECTAGG(KEY k VALUE d) AS j, JSON_ARRAYAGG(b) AS a
FROM (VALUES ('a', CAST(1.50 AS DECIMAL(5, 2)), TRUE)) AS t(k, d, b);

-- case: json_objectagg_null_key
-- mode: streaming
SELECT JSON_OBJECTAGG(KEY k VALUE id) AS j FROM orders WHERE id IN (5, 6);

-- case: json_objectagg_batch
-- mode: batch
SELECT JSON_OBJECTAGG(KEY k VALUE v) AS j FROM (VALUES ('b', 1), ('a', 2)) AS t(k, v);

-- case: json_arrayagg_null
-- mode: streaming
SELECT k, JSON_ARRAYAGG(v NULL ON NULL) AS j FROM orders WHERE id < 9 GROUP BY k;

-- case: json_arrayagg_of_texts
-- mode: streaming
SELECT flag, JSON_ARRAYAGG(k) AS j FROM orders WHERE id < 6 GROUP BY flag;

-- case: json_arrayagg_of_json
-- mode: streaming
SELECT JSON_ARRAYAGG(JSON_OBJECT('id' VALUE id)) AS j FROM orders WHERE id < 3;

-- case: json_arrayagg_retracting
-- mode: streaming
SELECT k, JSON_ARRAYAGG(v) AS j FROM changes GROUP BY k;

-- case: json_arrayagg_batch
-- mode: batch
SELECT JSON_ARRAYAGG(v) AS j FROM (VALUES (1), (2)) AS t(v);

-- case: json_objectagg_two_arguments
SELECT JSON_OBJECTAGG(k, v) AS j FROM orders;

-- case: count_of_two
SELECT COUNT(k, v) AS n FROM orders;

-- case: count_distinct_of_two
SELECT COUNT(DISTINCT k, v) AS n FROM orders;

-- case: percentile_of_group
SELECT k, PERCENTILE(v, 0.25) AS p FROM orders GROUP BY k;

-- case: percentile_with_frequency
SELECT k, PERCENTILE(v, 0.5, id) AS p FROM orders GROUP BY k;

-- case: percentile_retracting
-- mode: streaming
SELECT k, PERCENTILE(v, 0.5) AS p FROM changes GROUP BY k;

-- case: percentile_of_decimal
SELECT PERCENTILE(price, 0.5) AS p FROM orders;

-- case: percentile_out_of_range
SELECT PERCENTILE(v, 1.5) AS p FROM orders;

-- case: percentile_of_column
SELECT PERCENTILE(v, v) AS p FROM orders;

-- case: approx_count_distinct_all
SELECT APPROX_COUNT_DISTINCT(k) AS n FROM orders;

-- case: max_of_boolean
SELECT k, MAX(flag) AS m, MIN(flag) AS l FROM orders GROUP BY k;

-- case: max_of_array
SELECT MAX(tags) AS m FROM nested;

-- case: max_of_row
SELECT MAX(addr) AS m FROM nested;

-- case: sum_decimal_wraps_to_null
SELECT SUM(x) AS s FROM (VALUES (CAST(99999999999999999999999999999999999999 AS DECIMAL(38, 0))),
  (CAST(1 AS DECIMAL(38, 0)))) AS t(x);

-- case: avg_of_big_decimal
SELECT AVG(CAST(x AS DECIMAL(38, 10))) AS a FROM (VALUES (1), (2)) AS t(x);

-- case: distinct_of_rows
SELECT DISTINCT addr FROM nested;

-- case: distinct_of_arrays
SELECT DISTINCT tags FROM nested;

-- case: group_by_row_and_more
SELECT addr, id, COUNT(*) AS n, SUM(id) AS s FROM nested GROUP BY addr, id;

-- case: group_by_made_row
SELECT r, COUNT(*) AS n, MAX(id) AS m FROM (SELECT (k, flag) AS r, id FROM orders) AS t GROUP BY r;

-- case: group_by_made_array
SELECT ARRAY[k, 'x'] AS a, COUNT(*) AS n FROM orders GROUP BY ARRAY[k, 'x'];

-- case: group_by_row_retracting
-- mode: streaming
SELECT r, COUNT(*) AS n, SUM(v) AS s FROM (SELECT (k, 1) AS r, v FROM changes) AS t GROUP BY r;

-- case: field_of_row_key
SELECT addr.city, COUNT(*) AS n FROM nested GROUP BY addr;

-- case: union_of_rows
-- order: bag
SELECT addr FROM nested UNION SELECT addr FROM nested;

-- case: intersect_of_rows
-- order: folded
SELECT addr FROM nested INTERSECT SELECT addr FROM nested WHERE id < 3;

-- case: intersect_of_changes
-- mode: streaming
-- order: folded
SELECT k FROM changes INTERSECT SELECT k FROM orders WHERE id < 3;

-- case: except_of_changes
-- mode: streaming
-- order: folded
SELECT k FROM orders EXCEPT SELECT k FROM changes;

-- case: except_all_of_changes
-- mode: streaming
-- order: folded
SELECT k, v FROM changes EXCEPT ALL SELECT k, v FROM orders;

-- case: intersect_three
-- order: folded
SELECT i FROM t1 INTERSECT SELECT i FROM t2 INTERSECT SELECT 2;

-- case: intersect_types
-- order: folded
SELECT i FROM t1 INTERSECT SELECT CAST(i AS BIGINT) FROM t2;

-- case: except_different_columns
SELECT i FROM t1 EXCEPT SELECT i, s FROM t2;

-- case: count_distinct_of_array
SELECT COUNT(DISTINCT tags) AS n FROM nested;

-- case: listagg_distinct
SELECT flag, LISTAGG(DISTINCT k) AS l FROM orders WHERE id < 7 GROUP BY flag;

-- case: first_last_of_group
-- mode: streaming
SELECT k, FIRST_VALUE(v) AS f, LAST_VALUE(v) AS l FROM orders GROUP BY k;

-- case: collect_of_group
SELECT k, COLLECT(v) AS c FROM orders GROUP BY k;

-- case: order_by_aggregate_not_selected
-- mode: batch
-- batch order: exact
SELECT k FROM orders WHERE k < 'd' GROUP BY k ORDER BY COUNT(*) DESC, k;

-- case: order_by_key_expression
-- mode: batch
-- batch order: exact
SELECT k, COUNT(*) AS n FROM orders WHERE k < 'd' GROUP BY k ORDER BY UPPER(k) DESC;

-- case: order_by_distinct_not_selected
-- mode: batch
SELECT DISTINCT k FROM orders ORDER BY v;

-- case: order_by_alias_in_expression
-- mode: batch
-- batch order: exact
SELECT id, -v AS w FROM orders WHERE v > 0 ORDER BY w + 1, id;

-- case: order_by_nulls
-- mode: batch
-- batch order: exact
SELECT id, v FROM orders ORDER BY v NULLS LAST, id LIMIT 3 OFFSET 10;

-- case: order_by_fetch
-- mode: batch
-- batch order: exact
SELECT id FROM orders ORDER BY id DESC OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;

-- case: order_by_time_of_changes
-- mode: streaming
SELECT ts, COUNT(*) AS n FROM clicks GROUP BY ts ORDER BY ts;

-- case: order_by_time_hidden
-- mode: streaming
SELECT id FROM clicks ORDER BY ts;

-- case: order_by_time_in_subquery
-- mode: streaming
SELECT COUNT(*) AS n FROM (SELECT id FROM clicks WHERE id < 4 ORDER BY ts) AS t;

-- case: order_by_window_time
-- mode: streaming
SELECT window_time, n FROM (SELECT window_start, window_end, window_time, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, window_time) AS t ORDER BY window_time;

-- case: order_by_expression_of_time
-- mode: streaming
SELECT id, ts FROM clicks ORDER BY ts + INTERVAL '1' SECOND;

-- case: collect_of_rows
SELECT COLLECT(addr) AS c FROM nested;

-- case: percentile_between
-- order: folded
SELECT k, PERCENTILE(v, 0.9) AS p FROM orders GROUP BY k;

-- case: results_of_no_rows
SELECT COUNT(*) AS n, SUM(v) AS s, MIN(k) AS m FROM orders WHERE FALSE;

-- case: percentile_last_digits
SELECT PERCENTILE(x, ARRAY[0.1, 0.9]) FROM (VALUES (0.01), (1.1), (2.25)) AS t(x);
