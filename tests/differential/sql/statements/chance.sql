-- Functions that give another value at each call, and the present time, as far as one can compare.

-- case: rand_in_range
SELECT id, RAND() >= 0 AND RAND() < 1 AS r, RAND_INTEGER(10) BETWEEN 0 AND 9 AS n FROM orders;

-- case: rand_types
-- show: schema
SELECT RAND() AS a, RAND(1) AS b, RAND_INTEGER(5) AS c, RAND_INTEGER(1, 5) AS d, UUID() AS u
FROM orders;

-- case: uuids_differ
SELECT COUNT(DISTINCT u) AS n FROM (SELECT UUID() AS u FROM orders) AS t;

-- case: uuid_length
SELECT id, CHAR_LENGTH(UUID()) AS n FROM orders WHERE id < 4;

-- case: uuid_of_two_columns
SELECT id, UUID() = UUID() AS same FROM orders WHERE id < 3;

-- case: rand_with_seed_between
SELECT id, RAND(7) BETWEEN 0 AND 1 AS r FROM orders WHERE id < 3;

-- case: rand_in_where
SELECT id FROM orders WHERE RAND() < 2 AND id < 4;

-- case: rand_integer_of_column
SELECT id, RAND_INTEGER(id) < id AS r FROM orders WHERE id < 4;

-- case: now_is_one_moment
SELECT id, NOW() = CURRENT_TIMESTAMP AS same FROM orders WHERE id < 3;

-- case: now_is_after_2025
SELECT id, CURRENT_TIMESTAMP > TO_TIMESTAMP_LTZ(1735689600000, 3) AS later,
  LOCALTIMESTAMP > TIMESTAMP '2025-01-01 00:00:00' AS local_later,
  CURRENT_DATE > DATE '2025-01-01' AS day_later FROM orders WHERE id < 3;

-- case: now_in_values
SELECT x > TO_TIMESTAMP_LTZ(1735689600000, 3) AS later FROM (VALUES (CURRENT_TIMESTAMP)) AS t(x);

-- case: now_in_two_values
SELECT x > TO_TIMESTAMP_LTZ(1735689600000, 3) AS later
FROM (VALUES (CURRENT_TIMESTAMP), (CURRENT_ROW_TIMESTAMP())) AS t(x);

-- case: now_of_all_rows_in_batch
-- mode: batch
SELECT COUNT(DISTINCT n) AS c FROM (SELECT NOW() AS n FROM orders) AS t;

-- case: proctime_value
SELECT id, PROCTIME() > TO_TIMESTAMP_LTZ(1735689600000, 3) AS later FROM orders WHERE id < 3;

-- case: unix_timestamp_now
SELECT id, UNIX_TIMESTAMP() > 1735689600 AS later FROM orders WHERE id < 3;

-- case: group_by_rand
SELECT COUNT(*) AS n FROM (SELECT RAND_INTEGER(1) AS r FROM orders) AS t GROUP BY r;

-- case: now_of_changes
-- mode: streaming
SELECT k, v, NOW() > TO_TIMESTAMP_LTZ(0, 3) AS n FROM changes;

-- case: rand_over_retracting
-- mode: streaming
SELECT k, SUM(v) AS s, RAND() < 2 AS r FROM changes GROUP BY k;

-- case: current_watermark_of_plain
SELECT CURRENT_WATERMARK(`day`) FROM orders;

-- case: current_watermark_filter
-- mode: streaming
SELECT id, CURRENT_WATERMARK(ts) IS NULL AS before FROM clicks WHERE id < 5;

-- case: source_watermark_in_query
SELECT SOURCE_WATERMARK() FROM clicks;
