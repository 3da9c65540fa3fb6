-- UNNEST and LATERAL.

-- case: array
SELECT id, tag FROM nested CROSS JOIN UNNEST(tags) AS t(tag);

-- case: array_comma
SELECT id, tag FROM nested, UNNEST(tags) AS t(tag);

-- case: array_left_join
SELECT id, tag FROM nested LEFT JOIN UNNEST(tags) AS t(tag) ON TRUE;

-- case: array_ordinality
SELECT id, tag, n FROM nested CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t(tag, n);

-- case: array_left_ordinality
SELECT id, tag, n FROM nested LEFT JOIN UNNEST(tags) WITH ORDINALITY AS t(tag, n) ON TRUE;

-- case: array_of_rows
SELECT id, x, y FROM nested CROSS JOIN UNNEST(points) AS t(x, y);

-- case: array_of_rows_own_names
SELECT id, x, y FROM nested CROSS JOIN UNNEST(points);

-- case: array_of_rows_left
SELECT id, x, y FROM nested LEFT JOIN UNNEST(points) AS t(x, y) ON TRUE;

-- case: map
-- order: bag
SELECT id, a, b FROM nested CROSS JOIN UNNEST(attrs) AS t(a, b);

-- case: map_ordinality
-- order: bag
SELECT id, a, b, n FROM nested CROSS JOIN UNNEST(attrs) WITH ORDINALITY AS t(a, b, n);

-- case: multiset
-- mode: streaming
SELECT k, x FROM (SELECT k, COLLECT(v) AS c FROM orders WHERE id < 7 GROUP BY k) AS q
CROSS JOIN UNNEST(c) AS t(x);

-- case: multiset_batch
-- mode: batch
SELECT k, x FROM (SELECT k, COLLECT(v) AS c FROM orders GROUP BY k) AS q
CROSS JOIN UNNEST(c) AS t(x);

-- case: literal_array
SELECT x FROM UNNEST(ARRAY[3, 1, 2]) AS t(x);

-- case: literal_array_ordinality
SELECT x, n FROM UNNEST(ARRAY['a', 'b']) WITH ORDINALITY AS t(x, n);

-- case: literal_map
-- order: bag
SELECT a, b FROM UNNEST(MAP['x', 1, 'y', 2]) AS t(a, b);

-- case: then_group
SELECT tag, COUNT(*) AS n FROM nested CROSS JOIN UNNEST(tags) AS t(tag) GROUP BY tag;

-- case: filter_after
SELECT id, tag FROM nested CROSS JOIN UNNEST(tags) AS t(tag) WHERE tag <> 'x' AND id > 0;

-- case: two
SELECT id, tag, i FROM nested CROSS JOIN UNNEST(tags) AS a(tag) CROSS JOIN UNNEST(ints) AS b(i);

-- case: expression
SELECT id, x FROM nested CROSS JOIN UNNEST(ARRAY[id, id * 10]) AS t(x) WHERE id < 3;

-- case: star
SELECT * FROM nested CROSS JOIN UNNEST(ints) AS t(i) WHERE id = 1;

-- case: of_updating_input
-- mode: streaming
SELECT k, x FROM (SELECT k, COUNT(*) AS n FROM orders WHERE id < 4 GROUP BY k) AS q
CROSS JOIN UNNEST(ARRAY[n, n * 10]) AS t(x);

-- case: not_a_collection
SELECT id, x FROM nested CROSS JOIN UNNEST(id) AS t(x);

-- case: wrong_number_of_names
SELECT id, x FROM nested CROSS JOIN UNNEST(points) AS t(x);

-- case: lateral_unknown_function
SELECT id, x FROM nested, LATERAL TABLE(nope(id)) AS t(x);

-- case: lateral_scalar_function
SELECT id, x FROM nested, LATERAL TABLE(UPPER('a')) AS t(x);

-- case: lateral_subquery
SELECT o.id, x.m FROM t1 AS o0 JOIN orders AS o ON o0.i = o.id, LATERAL (SELECT o.v + 1 AS m) AS x;

-- case: array_by_its_alias
SELECT id, tag FROM nested, UNNEST(tags) AS tag;

-- case: join_with_condition
SELECT id, p.x FROM nested JOIN UNNEST(points) AS p(x, y) ON p.x > 1;

-- case: left_join_with_condition
SELECT id, n FROM nested LEFT JOIN UNNEST(ints) AS i(n) ON n > 1;

-- case: order_of_a_map
CREATE TABLE maps (id INT, m MAP<STRING, INT>) WITH ('connector' = 'filesystem', 'path' = '{data}/maps.json',
  'format' = 'json');
SELECT id, k, v, o FROM maps CROSS JOIN UNNEST(m) WITH ORDINALITY AS t(k, v, o);
