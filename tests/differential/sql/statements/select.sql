-- Projections, filters, three-valued logic; expressions themselves have a corpus of their own.

-- case: all_columns
SELECT * FROM orders;

-- case: some_columns_renamed
SELECT id AS order_id, k, v + 1 AS next_v, price FROM orders;

-- case: names_of_expressions
-- note: unnamed columns are EXPR$n by position
SELECT v, v + 1, UPPER(k), 1, 'x' FROM orders WHERE id = 1;

-- case: same_name_twice
SELECT id, k, id FROM orders WHERE id < 3;

-- case: star_and_more
-- order: bag
SELECT *, v * 2 AS v2 FROM t1 CROSS JOIN (VALUES (1)) AS w(v);

-- case: star_of_alias
SELECT o.*, o.v AS again FROM orders AS o WHERE o.id IN (1, 2);

-- case: where_equal
SELECT id, k FROM orders WHERE k = 'a';

-- case: where_not_equal_drops_null
SELECT id, k FROM orders WHERE k <> 'a';

-- case: where_is_null
SELECT id, k FROM orders WHERE k IS NULL;

-- case: where_and_or_null
SELECT id FROM orders WHERE (v > 5 OR flag) AND NOT (price > 5);

-- case: where_not_in_with_null
SELECT id FROM orders WHERE v NOT IN (10, 20, CAST(NULL AS INT));

-- case: where_in_with_null
SELECT id FROM orders WHERE v IN (10, 20, CAST(NULL AS INT));

-- case: in_as_value
SELECT id, v IN (10, 20), v NOT IN (10, 20), v IN (10, CAST(NULL AS INT)) FROM orders;

-- case: boolean_column_as_condition
SELECT id FROM orders WHERE flag;

-- case: not_boolean_column
SELECT id FROM orders WHERE NOT flag;

-- case: is_true_family
SELECT id, flag IS TRUE, flag IS NOT TRUE, flag IS FALSE, flag IS NOT FALSE, flag IS UNKNOWN
FROM orders;

-- case: and_or_table
SELECT id, flag AND v > 5, flag OR v > 5, NOT flag FROM orders;

-- case: between_and_like
SELECT id, k, v BETWEEN 5 AND 20, k LIKE '_' FROM orders WHERE v BETWEEN 5 AND 20;

-- case: case_without_else
SELECT id, CASE WHEN v > 10 THEN 'big' WHEN v > 0 THEN 'small' END AS size FROM orders;

-- case: distinct_from
SELECT id, v IS DISTINCT FROM 10, v IS NOT DISTINCT FROM CAST(NULL AS INT) FROM orders;

-- case: where_false
SELECT * FROM orders WHERE 1 = 2;

-- case: where_null
SELECT * FROM orders WHERE CAST(NULL AS BOOLEAN);

-- case: no_from
SELECT 1 AS x, 'two' AS y, CAST(NULL AS INT) AS z;

-- case: reserved_word_as_name
SELECT 1 AS one;

-- case: subquery_in_from
SELECT x.a, x.b FROM (SELECT k AS a, v * 2 AS b FROM orders WHERE v IS NOT NULL) AS x
WHERE x.b > 20;

-- case: columns_renamed_by_alias_list
SELECT y, x FROM (SELECT id, k FROM orders) AS t(x, y) WHERE x > 10;

-- case: nested_row_fields
SELECT id, addr, addr.city, nested.addr.zip FROM nested;

-- case: nested_collections
SELECT id, tags, attrs, points, tags[1], attrs['p'], CARDINALITY(tags) FROM nested;

-- case: every_kind_of_value
SELECT * FROM kinds;

-- case: like_filter_on_empty
SELECT k, v FROM nothing WHERE v > 1;

-- case: filter_on_changelog
-- mode: streaming
-- note: a filter between the two halves of an update leaves one of them
SELECT id, k, v FROM changes WHERE v > 12;

-- case: projection_of_changelog
-- mode: streaming
-- note: halves of an update that are equal after the projection are both there
SELECT k FROM changes;

-- case: filter_on_changelog_by_key_column
-- mode: streaming
SELECT id, v FROM changes WHERE k = 'a';

-- case: changelog_with_primary_key
-- mode: streaming
SELECT * FROM changes_pk;

-- case: changelog_source_in_batch
-- mode: batch
SELECT * FROM changes;

-- case: backticks_and_case_of_names
SELECT `id` AS `Id`, `day` AS `a b` FROM orders WHERE `id` = 1;

-- case: comments_inside
SELECT id /* the key */ FROM orders -- all of them
WHERE id < 3;

-- case: fields_by_star
SELECT id, addr.* FROM nested;

-- case: zeros_in_list
SELECT id, f IN (0E0, 2E0) AS i, f NOT IN (0E0, 2E0) AS o FROM kinds;

-- case: database_of_session
SELECT CURRENT_DATABASE() AS d FROM t1 WHERE i = 1;

-- case: similar_dot
SELECT id FROM orders WHERE k SIMILAR TO '.';

-- case: not_over_nan
SELECT id, NOT (d < 0) AS a, NOT (d >= 0) AS b, NOT (d < 0 OR id > 5) AS c,
  NOT (d > 0 AND id > 1) AS e, d NOT BETWEEN 0 AND 5 AS f, NOT (NOT (d < 0)) AS g,
  NOT (d = 0) AS h, NOT (CASE WHEN id > 1 THEN d < 0 ELSE d > 0 END) AS i, NOT (id > d) AS j
FROM (VALUES (1, CAST('NaN' AS DOUBLE)), (2, 1.0E0), (3, CAST(NULL AS DOUBLE)), (4, -1.0E0),
  (7, CAST('NaN' AS DOUBLE))) AS t(id, d);

-- case: nan_with_itself
SELECT id, d = d AS a, d <> d AS b, d <= d AS c, d < d AS e, NOT (d = d) AS f
FROM (VALUES (1, CAST('NaN' AS DOUBLE)), (2, 1.0E0), (3, CAST(NULL AS DOUBLE))) AS t(id, d);

-- case: filters_of_nan
SELECT id FROM (VALUES (1, CAST('NaN' AS DOUBLE)), (2, 1.0E0), (3, CAST(NULL AS DOUBLE)),
  (4, -1.0E0), (5, 9.0E0)) AS t(id, d)
WHERE NOT (d < 0) OR d NOT BETWEEN -5 AND 5;
