-- Aggregates over rows that are taken back: of a changelog, or of another aggregate.

-- case: count
-- mode: streaming
SELECT k, COUNT(*) AS n FROM changes GROUP BY k;

-- case: count_column
-- mode: streaming
SELECT k, COUNT(v) AS n FROM changes GROUP BY k;

-- case: sum
-- mode: streaming
SELECT k, SUM(v) AS s FROM changes GROUP BY k;

-- case: avg
-- mode: streaming
SELECT k, AVG(v) AS s FROM changes GROUP BY k;

-- case: min_max
-- mode: streaming
SELECT k, MIN(v) AS lo, MAX(v) AS hi FROM changes GROUP BY k;

-- case: no_group_goes_to_nothing
-- mode: streaming
SELECT COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo FROM changes WHERE k = 'c';

-- case: no_group
-- mode: streaming
SELECT COUNT(*) AS n, SUM(v) AS s, MAX(v) AS hi, MIN(k) AS first_k FROM changes;

-- case: count_distinct
-- mode: streaming
SELECT k, COUNT(DISTINCT v) AS n FROM changes GROUP BY k;

-- case: sum_distinct_filter
-- mode: streaming
SELECT k, SUM(DISTINCT v) FILTER (WHERE v < 50) AS s, COUNT(*) FILTER (WHERE v > 10) AS n
FROM changes GROUP BY k;

-- case: first_last
-- mode: streaming
SELECT k, FIRST_VALUE(v) AS a, LAST_VALUE(v) AS z FROM changes GROUP BY k;

-- case: listagg
-- mode: streaming
SELECT k, LISTAGG(CAST(v AS STRING)) AS l FROM changes GROUP BY k;

-- case: listagg_separator
-- mode: streaming
SELECT k, LISTAGG(CAST(v AS STRING), '/') AS l FROM changes GROUP BY k;

-- case: collect
-- mode: streaming
SELECT k, COLLECT(v) AS c FROM changes GROUP BY k;

-- case: array_agg
-- mode: streaming
SELECT k, ARRAY_AGG(v) AS c FROM changes GROUP BY k;

-- case: stddev
-- mode: streaming
SELECT STDDEV_POP(v), VAR_SAMP(v) FROM changes;

-- case: variance_by_key
-- mode: streaming
SELECT k, VAR_POP(v), STDDEV_SAMP(v) FROM changes GROUP BY k;

-- case: distinct
-- mode: streaming
SELECT DISTINCT k FROM changes;

-- case: distinct_v
-- mode: streaming
SELECT DISTINCT v FROM changes;

-- case: having
-- mode: streaming
SELECT k, SUM(v) AS s FROM changes GROUP BY k HAVING SUM(v) >= 30;

-- case: json_objectagg
-- mode: streaming
SELECT k, JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE v) AS j FROM changes GROUP BY k;

-- case: approx_count_distinct
-- mode: streaming
SELECT APPROX_COUNT_DISTINCT(v) FROM changes;

-- case: keyed_source_count
-- mode: streaming
SELECT k, COUNT(*) AS n, SUM(v) AS s FROM changes_pk GROUP BY k;

-- case: keyed_source_group_by_key
-- mode: streaming
SELECT id, COUNT(*) AS n, MAX(v) AS m FROM changes_pk GROUP BY id;

-- case: with_ttl
-- mode: streaming
-- set: table.exec.state.ttl = 1 d
SELECT k, COUNT(*) AS n FROM changes GROUP BY k;

-- case: nested_count_of_counts
SELECT n, COUNT(*) AS many FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) GROUP BY n;

-- case: nested_sum_of_sums
SELECT SUM(s) AS s, COUNT(*) AS n FROM (SELECT k, SUM(v) AS s FROM orders GROUP BY k) AS t;

-- case: nested_max_of_counts
SELECT MAX(n) AS hi, MIN(n) AS lo FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t;

-- case: nested_max_of_sums
-- note: what is largest shrinks
SELECT MAX(s) AS hi, MIN(s) AS lo FROM (SELECT k, SUM(v) AS s FROM orders GROUP BY k) AS t;

-- case: nested_max_of_max
-- note: MAX of growing values needs no retraction
SELECT flag, MAX(m) AS hi FROM (SELECT k, flag, MAX(v) AS m FROM orders GROUP BY k, flag) AS t
GROUP BY flag;

-- case: nested_min_of_min
SELECT flag, MIN(m) AS hi FROM (SELECT k, flag, MIN(v) AS m FROM orders GROUP BY k, flag) AS t
GROUP BY flag;

-- case: nested_min_of_max
SELECT flag, MIN(m) AS hi FROM (SELECT k, flag, MAX(v) AS m FROM orders GROUP BY k, flag) AS t
GROUP BY flag;

-- case: nested_distinct
SELECT COUNT(DISTINCT n) AS d FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t;

-- case: nested_last_value
-- mode: streaming
SELECT LAST_VALUE(s) AS z, FIRST_VALUE(s) AS a
FROM (SELECT k, SUM(v) AS s FROM orders GROUP BY k) AS t;

-- case: nested_listagg
-- mode: streaming
SELECT LISTAGG(k) AS ks FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t WHERE n > 1;

-- case: nested_filter_between
SELECT COUNT(*) AS n, SUM(s) AS s
FROM (SELECT k, SUM(v) AS s FROM orders GROUP BY k) AS t WHERE s > 15;

-- case: nested_avg
SELECT AVG(s) AS s FROM (SELECT k, SUM(v) AS s FROM orders GROUP BY k) AS t;

-- case: nested_three
SELECT COUNT(*) AS c FROM (
  SELECT n, COUNT(*) AS many FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) GROUP BY n
) AS t WHERE many > 1;

-- case: nested_collect
-- mode: streaming
SELECT COLLECT(n) AS c FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t;

-- case: nested_distinct_rows
SELECT DISTINCT n FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t;

-- case: nested_group_by_subset
-- note: the outer keys are part of the inner ones
SELECT k, SUM(n) AS n, COUNT(*) AS flags
FROM (SELECT k, flag, COUNT(*) AS n FROM orders GROUP BY k, flag) AS t GROUP BY k;

-- case: nested_same_key
SELECT k, MAX(n) AS m FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t GROUP BY k;

-- case: mini_batch_nested
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 100
-- order: folded
SELECT n, COUNT(*) AS many FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) GROUP BY n;

-- case: mini_batch_min_max
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 4
-- order: folded
SELECT k, MIN(v) AS lo, MAX(v) AS hi, COUNT(DISTINCT v) AS d FROM changes GROUP BY k;

-- case: mini_batch_having
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 5
-- order: folded
SELECT k, SUM(v) AS s FROM changes GROUP BY k HAVING SUM(v) >= 30;

-- case: mini_batch_no_group
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 5
-- order: folded
SELECT COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo FROM changes;

-- case: mini_batch_filter_distinct
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 5
-- order: folded
SELECT k, COUNT(DISTINCT v) FILTER (WHERE v < 40) AS d, COUNT(*) AS n FROM changes GROUP BY k;

-- case: mini_batch_first_last
-- mode: streaming
-- set: table.exec.mini-batch.enabled = true
-- set: table.exec.mini-batch.allow-latency = 5 s
-- set: table.exec.mini-batch.size = 100
-- order: folded
SELECT k, FIRST_VALUE(v) AS a, LAST_VALUE(v) AS z FROM orders GROUP BY k;

-- case: union_of_aggregates_then_aggregate
-- note: the two sides may meet in any order, what they add up to is fixed
-- order: folded
SELECT k, SUM(n) AS n FROM (
  SELECT k, COUNT(*) AS n FROM orders GROUP BY k
  UNION ALL SELECT s AS k, COUNT(*) AS n FROM t1 GROUP BY s) AS t
GROUP BY k;

-- case: nested_sum_decimal
SELECT SUM(p) AS p, AVG(p) AS a
FROM (SELECT k, MAX(price) AS p FROM orders GROUP BY k) AS t;

-- case: nested_sum_double
-- note: sums of doubles drift where values are taken back
SELECT SUM(s) AS s, AVG(s) AS a FROM (SELECT k, SUM(score) AS s FROM orders GROUP BY k) AS t;

-- case: sum_becomes_null
-- mode: streaming
-- note: the last value that is not NULL is taken back
SELECT SUM(v) AS s, COUNT(*) AS n, COUNT(v) AS c FROM changes WHERE id IN (3, 5);

-- case: filter_between_two
SELECT n, COUNT(*) AS c FROM (
  SELECT k, COUNT(*) AS n FROM orders GROUP BY k HAVING COUNT(*) < 3) AS t GROUP BY n;

-- case: first_value_of_growing
-- mode: streaming
SELECT FIRST_VALUE(n) AS a, LAST_VALUE(n) AS z
FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t;

-- case: nested_by_key_of_inner
SELECT k, SUM(s) AS s, MIN(n) AS lo
FROM (SELECT k, SUM(v) AS s, COUNT(*) AS n FROM orders GROUP BY k) AS t GROUP BY k;

-- case: distinct_of_groups
SELECT DISTINCT k, n FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t;

-- case: nested_count_by_key_of_inner
-- note: a count is no value of the row
SELECT k, COUNT(n) AS c FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) AS t GROUP BY k;
