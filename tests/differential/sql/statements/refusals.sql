-- What Flink refuses, and where: while it plans, or only when a row comes.

-- case: unknown_column
SELECT nope FROM orders;

-- case: unknown_column_qualified
SELECT o.nope FROM orders AS o;

-- case: unknown_alias
SELECT x.id FROM orders AS o;

-- case: table_name_hidden_by_alias
SELECT orders.id FROM orders AS o;

-- case: unknown_table
SELECT * FROM nope;

-- case: unknown_database_of_table
SELECT * FROM nope.orders;

-- case: unknown_catalog
SELECT * FROM nope.default_database.orders;

-- case: unknown_function
SELECT NOPE(id) FROM orders;

-- case: column_name_other_case
-- note: names are as written
SELECT ID FROM orders;

-- case: table_name_other_case
SELECT id FROM ORDERS;

-- case: function_name_any_case
SELECT uPPer('a') AS x, Count(*) AS n FROM t1;

-- case: ambiguous_column
SELECT i FROM t1, t2;

-- case: ambiguous_in_order
SELECT t1.i, t2.i AS j FROM t1, t2 ORDER BY s;

-- case: alias_in_where
SELECT id AS x FROM orders WHERE x > 1;

-- case: alias_in_having
SELECT k, COUNT(*) AS n FROM orders GROUP BY k HAVING n > 1;

-- case: alias_in_select
SELECT id AS x, x + 1 AS y FROM orders;

-- case: wrong_number_of_arguments
SELECT UPPER(k, k) FROM orders;

-- case: wrong_type_of_argument
SELECT UPPER(id) FROM orders;

-- case: number_plus_text
SELECT id + k FROM orders;

-- case: text_plus_text
SELECT k + k FROM orders;

-- case: concat_number
SELECT id || k FROM orders;

-- case: compare_number_and_text
SELECT id FROM orders WHERE id = 'a';

-- case: compare_number_and_numeric_text
SELECT id FROM orders WHERE id = '1';

-- case: compare_date_and_text
SELECT id FROM orders WHERE `day` = '2026-01-01';

-- case: compare_date_and_number
SELECT id FROM orders WHERE `day` = 1;

-- case: compare_boolean_and_number
SELECT id FROM orders WHERE flag = 1;

-- case: where_not_boolean
SELECT id FROM orders WHERE v;

-- case: where_text
SELECT id FROM orders WHERE 'true';

-- case: and_of_numbers
SELECT id AND v FROM orders;

-- case: not_of_number
SELECT NOT id FROM orders;

-- case: case_of_mixed_types
SELECT CASE WHEN v > 1 THEN 'a' ELSE 1 END AS x FROM orders;

-- case: coalesce_of_mixed_types
SELECT COALESCE(v, 'none') FROM orders;

-- case: in_of_mixed_types
SELECT id FROM orders WHERE v IN ('a', 'b');

-- case: cast_impossible
SELECT CAST(`day` AS INT) FROM orders;

-- case: cast_unknown_type
SELECT CAST(id AS NOPE) FROM orders;

-- case: cast_fails_at_run
SELECT CAST(k AS INT) FROM orders;

-- case: try_cast
SELECT TRY_CAST(k AS INT) AS x FROM orders WHERE id < 3;

-- case: division_by_zero_constant
SELECT 1 / 0;

-- case: division_by_zero_at_run
SELECT 10 / v FROM orders;

-- case: division_by_zero_double
SELECT 1 / (score - score) AS x, score FROM orders WHERE id = 1;

-- case: modulo_zero
SELECT MOD(10, v) FROM orders WHERE id = 13;

-- case: int_overflow
SELECT 2147483647 + id AS x, CAST(2147483647 AS INT) * 2 AS y FROM orders WHERE id = 1;

-- case: literal_too_big
SELECT 99999999999999999999 AS x;

-- case: literal_too_big_for_decimal
SELECT 123456789012345678901234567890123456789012 AS x;

-- case: bad_date_literal
SELECT DATE '2026-02-30';

-- case: bad_timestamp_literal
SELECT TIMESTAMP 'yesterday';

-- case: bad_interval
SELECT INTERVAL '1:2' DAY;

-- case: aggregate_in_where
SELECT k FROM orders WHERE COUNT(*) > 1 GROUP BY k;

-- case: aggregate_in_group_by
SELECT COUNT(*) FROM orders GROUP BY SUM(v);

-- case: nested_aggregates
SELECT SUM(COUNT(*)) FROM orders GROUP BY k;

-- case: missing_group_by_column
SELECT k, v, COUNT(*) FROM orders GROUP BY k;

-- case: missing_group_by
SELECT k, COUNT(*) FROM orders;

-- case: star_with_group_by
SELECT * FROM orders GROUP BY k;

-- case: having_column_not_grouped
SELECT k FROM orders GROUP BY k HAVING v > 1;

-- case: having_without_group_column
SELECT v FROM orders HAVING v > 1;

-- case: group_by_other_expression
SELECT v + 1 FROM orders GROUP BY v + 2;

-- case: sum_of_star
SELECT SUM(*) FROM orders;

-- case: sum_of_two
SELECT SUM(v, big) FROM orders;

-- case: count_distinct_star
SELECT COUNT(DISTINCT *) FROM orders;

-- case: filter_not_boolean
SELECT COUNT(*) FILTER (WHERE v) FROM orders;

-- case: filter_of_scalar
SELECT UPPER(k) FILTER (WHERE v > 1) FROM orders;

-- case: distinct_of_scalar
SELECT UPPER(DISTINCT k) FROM orders;

-- case: aggregate_within_group
SELECT LISTAGG(k) WITHIN GROUP (ORDER BY id) FROM orders;

-- case: first_value_ignore_nulls
SELECT FIRST_VALUE(v) IGNORE NULLS FROM orders;

-- case: qualify
SELECT id FROM orders QUALIFY ROW_NUMBER() OVER (ORDER BY id) = 1;

-- case: star_except
SELECT * EXCEPT (id) FROM orders;

-- case: no_table_star
SELECT *;

-- case: empty_select
SELECT FROM orders;

-- case: missing_from_comma
SELECT id k v FROM orders;

-- case: unclosed_parenthesis
SELECT (id FROM orders;

-- case: unclosed_text
SELECT 'abc FROM orders;

-- case: double_quoted_text
-- note: double quotes are not names
SELECT "id" FROM orders;

-- case: two_equal_signs
SELECT id FROM orders WHERE id == 1;

-- case: not_equal_c
SELECT id FROM orders WHERE id != 1 AND id < 4;

-- case: reserved_word
SELECT value FROM orders;

-- case: reserved_alias
SELECT id AS order FROM orders;

-- case: two_statements
SELECT 1 AS x; SELECT 2 AS y;

-- case: trailing_semicolons
SELECT 1 AS x;;

-- case: not_sql
HELLO WORLD;

-- case: colon_cast
SELECT id::STRING FROM orders;

-- case: scalar_subquery_two_columns
SELECT (SELECT 1, 2) FROM orders;

-- case: scalar_subquery_two_rows
SELECT id, (SELECT x FROM (VALUES (1), (2)) AS t(x)) AS s FROM orders WHERE id = 1;

-- case: in_subquery_two_columns
SELECT id FROM orders WHERE id IN (SELECT x, y FROM (VALUES (1, 2)) AS t(x, y));

-- case: array_index_zero
SELECT tags[0] FROM nested;

-- case: array_index_text
SELECT tags['a'] FROM nested;

-- case: map_key_of_other_type
SELECT attrs[1] FROM nested;

-- case: row_field_unknown
SELECT addr.nope FROM nested;

-- case: field_of_number
SELECT id.x FROM nested;

-- case: array_of_mixed
SELECT ARRAY[1, 'a'] FROM t1;

-- case: empty_array
SELECT ARRAY[] AS x FROM t1;

-- case: map_odd
SELECT MAP['a'] FROM t1;

-- case: over_without_time
SELECT id, SUM(v) OVER (PARTITION BY k) AS s FROM orders;

-- case: rank_without_top_n
-- mode: streaming
SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS r FROM orders;

-- case: time_attribute_into_group_window_twice
SELECT COUNT(*) FROM (SELECT ts + INTERVAL '1' SECOND AS t2 FROM clicks) AS q
GROUP BY TUMBLE(t2, INTERVAL '10' SECOND);

-- case: aggregate_loses_time_attribute
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(
  (SELECT name, MAX(ts) AS ts FROM clicks GROUP BY name), DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

-- case: window_time_twice
SELECT * FROM TABLE(TUMBLE(
  (SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))),
  DESCRIPTOR(ts), INTERVAL '10' SECOND));

-- case: window_function_in_select
SELECT TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND);

-- case: null_rowtime
SELECT * FROM null_times;

-- case: match_recognize_without_time
SELECT * FROM orders MATCH_RECOGNIZE (
  ORDER BY id MEASURES A.id AS x PATTERN (A) DEFINE A AS A.v > 10) AS m;

-- case: set_unknown_setting
SET 'nope' = '1';

-- case: use_unknown_catalog
USE CATALOG nope;

-- case: unknown_hint
SELECT /*+ NOPE(orders) */ id FROM orders;

-- case: options_are_disabled
-- set: table.dynamic-table-options.enabled = false
SELECT * FROM t1 /*+ OPTIONS('csv.ignore-parse-errors' = 'true') */;

-- case: view_with_one_name_twice
CREATE VIEW w AS SELECT k, v, k FROM orders;
