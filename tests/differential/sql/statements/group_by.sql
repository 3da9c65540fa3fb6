-- GROUP BY over rows that are only added: every aggregate, its type, and when an update is told.

-- case: count_star
SELECT k, COUNT(*) AS n FROM orders GROUP BY k;

-- case: count_column_skips_null
SELECT k, COUNT(v) AS n, COUNT(price) AS p FROM orders GROUP BY k;

-- case: count_of_unchanged_is_not_told
-- note: a row that changes no aggregate gives no -U and +U
SELECT k, COUNT(v) AS n FROM orders GROUP BY k;

-- case: count_of_two_columns
SELECT k, COUNT(v, price) AS n FROM orders GROUP BY k;

-- case: count_literal
SELECT k, COUNT(1) AS n, COUNT(CAST(NULL AS INT)) AS z FROM orders GROUP BY k;

-- case: count_distinct
SELECT k, COUNT(DISTINCT v) AS n FROM orders GROUP BY k;

-- case: count_distinct_two
SELECT k, COUNT(DISTINCT v) AS n, COUNT(DISTINCT flag) AS f, COUNT(*) AS c FROM orders GROUP BY k;

-- case: count_distinct_of_row
SELECT k, COUNT(DISTINCT (v, flag)) AS n FROM orders GROUP BY k;

-- case: count_distinct_columns
SELECT COUNT(DISTINCT v, flag) AS n FROM orders;

-- case: sum_of_every_type
SELECT g, SUM(ti), SUM(si), SUM(i), SUM(bi), SUM(f), SUM(d), SUM(de), SUM(wide)
FROM numbers GROUP BY g;

-- case: avg_of_every_type
SELECT g, AVG(ti), AVG(si), AVG(i), AVG(bi), AVG(f), AVG(d), AVG(de), AVG(wide)
FROM numbers GROUP BY g;

-- case: min_of_every_type
SELECT g, MIN(ti), MIN(si), MIN(i), MIN(bi), MIN(f), MIN(d), MIN(de), MIN(wide)
FROM numbers GROUP BY g;

-- case: max_of_every_type
SELECT g, MAX(ti), MAX(si), MAX(i), MAX(bi), MAX(f), MAX(d), MAX(de), MAX(wide)
FROM numbers GROUP BY g;

-- case: min_max_of_other_types
SELECT MIN(s), MAX(s), MIN(d), MAX(d), MIN(t), MAX(t), MIN(ts), MAX(ts), MIN(ltz), MAX(ltz),
  MIN(b), MAX(b), MIN(c), MAX(c)
FROM kinds;

-- case: max_of_bytes
SELECT MAX(`by`) FROM kinds;

-- case: max_of_array
SELECT MAX(tags) FROM nested;

-- case: sum_of_string
SELECT SUM(k) FROM orders;

-- case: sum_of_date
SELECT SUM(`day`) FROM orders;

-- case: sum_of_boolean
SELECT SUM(flag) FROM orders;

-- case: sum0
SELECT k, SUM(v), COUNT(v) FROM orders WHERE v > 100 GROUP BY k;

-- case: sum_of_nulls
SELECT SUM(v), AVG(v), MIN(v), MAX(v), COUNT(v) FROM orders WHERE k = 'c';

-- case: avg_truncates
-- note: of negative numbers too, towards zero
SELECT AVG(x), AVG(CAST(x AS BIGINT)) FROM (VALUES (-1), (-2), (0)) AS t(x);

-- case: avg_decimal
SELECT k, AVG(price) AS a FROM orders GROUP BY k;

-- case: stddev
SELECT g, STDDEV_POP(i), STDDEV_SAMP(i), STDDEV(i) FROM numbers GROUP BY g;

-- case: variance
SELECT g, VAR_POP(i), VAR_SAMP(i), VARIANCE(i) FROM numbers GROUP BY g;

-- case: stddev_of_double
SELECT STDDEV_POP(d), STDDEV_SAMP(d), VAR_POP(d), VAR_SAMP(d) FROM numbers;

-- case: stddev_of_decimal
SELECT STDDEV_POP(de), VAR_SAMP(de) FROM numbers;

-- case: stddev_of_float_and_small
SELECT STDDEV_POP(f), VAR_POP(ti), VAR_SAMP(si), STDDEV_SAMP(bi) FROM numbers WHERE i < 1000;

-- case: listagg
-- mode: streaming
SELECT k, LISTAGG(CAST(v AS STRING)) AS l FROM orders GROUP BY k;

-- case: listagg_with_separator
-- mode: streaming
SELECT k, LISTAGG(CAST(v AS STRING), ' | ') AS l FROM orders GROUP BY k;

-- case: listagg_distinct
-- mode: streaming
SELECT k, LISTAGG(DISTINCT CAST(v AS STRING)) AS l FROM orders GROUP BY k;

-- case: listagg_of_number
SELECT k, LISTAGG(v) FROM orders GROUP BY k;

-- case: collect
SELECT k, COLLECT(v) AS c FROM orders GROUP BY k;

-- case: collect_distinct
SELECT k, COLLECT(DISTINCT v) AS c FROM orders GROUP BY k;

-- case: array_agg
-- mode: streaming
SELECT k, ARRAY_AGG(v) AS a FROM orders GROUP BY k;

-- case: array_agg_distinct
-- mode: streaming
SELECT k, ARRAY_AGG(DISTINCT v) AS a FROM orders GROUP BY k;

-- case: first_value
-- mode: streaming
SELECT k, FIRST_VALUE(v) AS a, FIRST_VALUE(price) AS p FROM orders GROUP BY k;

-- case: last_value
-- mode: streaming
SELECT k, LAST_VALUE(v) AS a, LAST_VALUE(price) AS p FROM orders GROUP BY k;

-- case: first_and_last_skip_null
SELECT FIRST_VALUE(v), LAST_VALUE(v), FIRST_VALUE(k), LAST_VALUE(k)
FROM orders WHERE id IN (4, 5, 8);

-- case: filter_clause
SELECT k, COUNT(*) FILTER (WHERE v > 10) AS n, SUM(v) FILTER (WHERE flag) AS s,
  MAX(v) FILTER (WHERE v < 25) AS m
FROM orders GROUP BY k;

-- case: filter_clause_with_distinct
SELECT k, COUNT(DISTINCT v) FILTER (WHERE flag) AS f, COUNT(DISTINCT v) AS n
FROM orders GROUP BY k;

-- case: distinct_sum_avg
SELECT k, SUM(DISTINCT v) AS s, AVG(DISTINCT v) AS a, MAX(DISTINCT v) AS m FROM orders GROUP BY k;

-- case: having
SELECT k, COUNT(*) AS n FROM orders GROUP BY k HAVING COUNT(*) > 1;

-- case: having_may_become_false
-- note: a group that no longer meets the condition goes, and may come back
SELECT k, SUM(v) AS s FROM orders GROUP BY k HAVING SUM(v) > 35;

-- case: having_on_key
SELECT k, COUNT(*) AS n FROM orders GROUP BY k HAVING k IS NOT NULL;

-- case: having_without_group
SELECT COUNT(*) AS n FROM orders HAVING COUNT(*) > 12;

-- case: having_on_other_aggregate
SELECT k FROM orders GROUP BY k HAVING MAX(v) >= 20;

-- case: no_group
SELECT COUNT(*), SUM(v), MIN(k), MAX(price), AVG(score) FROM orders;

-- case: no_group_empty_input
-- note: a batch gives a row, a stream none
SELECT COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m FROM nothing;

-- case: no_group_all_filtered
SELECT COUNT(*) AS n, SUM(v) AS s FROM orders WHERE id > 100;

-- case: group_empty_input
SELECT k, COUNT(*) FROM nothing GROUP BY k;

-- case: group_by_nothing_but_constant
SELECT COUNT(*) FROM nothing GROUP BY 'x';

-- case: empty_grouping
SELECT COUNT(*) FROM orders GROUP BY ();

-- case: key_null_is_a_group
SELECT flag, COUNT(*) FROM orders GROUP BY flag;

-- case: two_keys
SELECT k, flag, COUNT(*), SUM(v) FROM orders GROUP BY k, flag;

-- case: keys_not_selected
SELECT COUNT(*) AS n FROM orders GROUP BY k;

-- case: key_twice_in_select
SELECT k, k AS again, COUNT(*) FROM orders GROUP BY k;

-- case: key_is_expression
SELECT v / 10 AS d, COUNT(*) FROM orders GROUP BY v / 10;

-- case: key_expression_used_in_another
SELECT v / 10 + 1 AS d, COUNT(*) FROM orders GROUP BY v / 10;

-- case: key_is_case
SELECT CASE WHEN v > 10 THEN 'big' ELSE 'small' END AS size, COUNT(*), SUM(v)
FROM orders GROUP BY CASE WHEN v > 10 THEN 'big' ELSE 'small' END;

-- case: key_is_decimal
SELECT price, COUNT(*) FROM orders GROUP BY price;

-- case: key_is_double
SELECT score, COUNT(*) FROM orders GROUP BY score;

-- case: key_minus_zero
SELECT f, COUNT(*) FROM kinds GROUP BY f;

-- case: key_is_date
SELECT `day`, COUNT(*), SUM(v) FROM orders GROUP BY `day`;

-- case: key_is_time_and_timestamp
SELECT t, ts, COUNT(*) FROM kinds GROUP BY t, ts;

-- case: key_is_ltz
SELECT ltz, COUNT(*) FROM kinds GROUP BY ltz;

-- case: key_is_bytes
SELECT `by`, COUNT(*) FROM kinds GROUP BY `by`;

-- case: key_is_row
SELECT addr, COUNT(*) FROM nested GROUP BY addr;

-- case: key_is_row_field
SELECT addr.city, COUNT(*) FROM nested GROUP BY addr.city;

-- case: key_is_array
SELECT tags, COUNT(*) FROM nested GROUP BY tags;

-- case: key_is_map
SELECT attrs, COUNT(*) FROM nested GROUP BY attrs;

-- case: aggregate_of_expression
SELECT k, SUM(v * 2 + 1) AS s, MAX(CHAR_LENGTH(k)) AS l FROM orders GROUP BY k;

-- case: expression_of_aggregates
SELECT k, SUM(v) / COUNT(*) AS r, SUM(v) + MAX(v) AS x, COALESCE(SUM(v), 0) AS z
FROM orders GROUP BY k;

-- case: same_aggregate_twice
SELECT k, SUM(v) AS a, SUM(v) AS b, SUM(v) + 1 AS c FROM orders GROUP BY k;

-- case: constant_beside_aggregate
SELECT 'total' AS what, k, COUNT(*) FROM orders GROUP BY k;

-- case: group_by_ordinal
SELECT k, COUNT(*) FROM orders GROUP BY 1;

-- case: group_by_alias
SELECT v / 10 AS d, COUNT(*) FROM orders GROUP BY d;

-- case: group_by_without_aggregate
SELECT k FROM orders GROUP BY k;

-- case: group_by_two_without_aggregate
SELECT k, flag FROM orders GROUP BY k, flag;

-- case: distinct
SELECT DISTINCT k FROM orders;

-- case: distinct_two
SELECT DISTINCT k, v FROM orders;

-- case: distinct_star
SELECT DISTINCT * FROM t1;

-- case: distinct_of_aggregates
SELECT DISTINCT COUNT(*) AS n FROM orders GROUP BY k;

-- case: distinct_with_expression
SELECT DISTINCT v / 10 AS d FROM orders WHERE v IS NOT NULL;

-- case: sum_int_wraps
SELECT SUM(x) FROM (VALUES (2147483647), (1)) AS t(x);

-- case: sum_bigint_wraps
SELECT SUM(x) FROM (VALUES (9223372036854775807), (CAST(1 AS BIGINT))) AS t(x);

-- case: sum_decimal_38_overflow
SELECT SUM(x) FROM (VALUES (CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0))),
  (CAST(1 AS DECIMAL(38, 0)))) AS t(x);

-- case: sum_float_types
SELECT SUM(CAST(x AS FLOAT)), SUM(CAST(x AS DOUBLE)) FROM (VALUES (0.1), (0.2), (0.3)) AS t(x);

-- case: min_of_nan
SELECT MIN(x), MAX(x), SUM(x), COUNT(DISTINCT x)
FROM (VALUES (CAST('NaN' AS DOUBLE)), (1.0E0), (CAST('NaN' AS DOUBLE))) AS t(x);

-- case: approx_count_distinct
SELECT k, APPROX_COUNT_DISTINCT(v) FROM orders GROUP BY k;

-- case: json_objectagg
-- mode: streaming
SELECT k, JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE v) AS j FROM orders WHERE id < 5 GROUP BY k;

-- case: json_arrayagg
-- mode: streaming
SELECT k, JSON_ARRAYAGG(v) AS j FROM orders WHERE id < 8 GROUP BY k;

-- case: percentile
SELECT PERCENTILE(v, 0.5), PERCENTILE(v, ARRAY[0.25, 0.75]) FROM orders;

-- case: any_value
SELECT ANY_VALUE(k) FROM orders;

-- case: single_value_of_one
-- order: folded
SELECT k, (SELECT MAX(v) FROM (VALUES (5)) AS t(v)) AS m FROM orders WHERE id = 1;

-- case: with_ttl_unchanged_is_told
-- mode: streaming
-- set: table.exec.state.ttl = 1 d
-- note: with a time to live an update is told even where nothing changes
SELECT k, COUNT(v) AS n FROM orders GROUP BY k;

-- case: with_ttl_distinct
-- mode: streaming
-- set: table.exec.state.ttl = 1 d
SELECT DISTINCT k FROM orders;

-- case: ttl_by_hint
-- mode: streaming
SELECT /*+ STATE_TTL('orders' = '1d') */ k, COUNT(v) AS n FROM orders GROUP BY k;

-- case: mini_batch
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 100
-- order: folded
SELECT k, COUNT(*) AS n, SUM(v) AS s FROM orders GROUP BY k;

-- case: mini_batch_one_phase
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 100
-- set: table.optimizer.agg-phase-strategy = ONE_PHASE
-- order: folded
SELECT k, COUNT(*) AS n, MAX(v) AS s FROM orders GROUP BY k;

-- case: mini_batch_split_distinct
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 100
-- set: table.optimizer.distinct-agg.split.enabled = true
-- order: folded
SELECT k, COUNT(DISTINCT v) AS n, SUM(v) AS s FROM orders GROUP BY k;

-- case: mini_batch_size_two
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 2
-- order: folded
SELECT k, COUNT(*) AS n FROM orders GROUP BY k;

-- case: mini_batch_group_comes_and_goes
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 3
-- order: folded
SELECT k, COUNT(*) AS n, SUM(v) AS s FROM changes GROUP BY k;

-- case: distinct_in_parentheses
SELECT DISTINCT(k) FROM orders;

-- case: variance_last_digits
SELECT k, VAR_SAMP(score), VAR_POP(score), STDDEV_SAMP(score), STDDEV_POP(score) FROM orders
  WHERE k = 'a' OR k = 'd' GROUP BY k;

-- case: variance_of_large_numbers
SELECT VAR_POP(x), STDDEV_POP(x) FROM (VALUES (1000000007), (1000000009), (1000000011)) AS t(x);

-- case: variance_that_does_not_change
-- note: an update is given where the sums behind the result have changed
SELECT k, STDDEV_POP(x), AVG(x) FROM (VALUES ('a', 1), ('a', 1), ('a', 1), ('a', 2)) AS t(k, x)
  GROUP BY k;

-- case: variance_of_distinct_that_does_not_change
SELECT k, STDDEV_POP(DISTINCT x)
  FROM (VALUES ('a', 1), ('a', 1), ('a', CAST(NULL AS INT)), ('a', 2)) AS t(k, x) GROUP BY k;

-- case: listagg_of_char
-- mode: streaming
SELECT LISTAGG(s), LISTAGG(s, '-'), LISTAGG(DISTINCT s) FROM (VALUES ('a'), ('b')) AS t(s);

-- case: listagg_of_varchar_by_key
SELECT k, LISTAGG(CAST(s AS VARCHAR(3))) FROM (VALUES ('a', 1), ('b', 1)) AS t(s, k) GROUP BY k;

-- case: array_agg_without_nulls
-- mode: streaming
SELECT ARRAY_AGG(k IGNORE NULLS), ARRAY_AGG(DISTINCT flag IGNORE NULLS) FROM orders;

-- case: array_agg_with_nulls
SELECT ARRAY_AGG(k RESPECT NULLS) FROM orders;

-- case: array_agg_of_not_null
SELECT ARRAY_AGG(s), MAX(s) FROM (VALUES ('a'), ('b')) AS t(s);

-- case: unread_aggregates_give_no_updates
SELECT SUM(c) FROM (SELECT v, AVG(v) AS c, LISTAGG(k) AS l FROM orders GROUP BY v);

-- case: unread_aggregates_of_a_view
CREATE TEMPORARY VIEW by_v AS SELECT v, k, VAR_POP(score) AS x, MIN(id) AS m FROM orders GROUP BY v, k;
SELECT k, COUNT(*) AS n, MAX(m) AS m FROM by_v GROUP BY k;

-- case: count_of_a_group_of_all
SELECT COUNT(*) FROM (SELECT SUM(v) AS s, LISTAGG(k) AS l FROM orders);

-- case: variances_of_the_reference
-- mode: streaming
-- note: the examples of the page of functions
SELECT STDDEV_POP(x), STDDEV_SAMP(x), VAR_POP(x), VAR_SAMP(x)
  FROM (SELECT CAST(n AS DOUBLE) AS x FROM (VALUES (1), (2), (2), (CAST(NULL AS INT))) AS t(n));
