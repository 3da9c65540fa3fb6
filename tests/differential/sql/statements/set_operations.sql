-- UNION, INTERSECT, EXCEPT, with NULLs and repeated rows.

-- case: union_all
-- order: bag
SELECT i, s FROM t1 UNION ALL SELECT i, s FROM t2;

-- case: union_all_names_and_types
-- order: bag
-- note: names of the first, the common type of both
SELECT id AS a, v AS b FROM orders WHERE id < 3
UNION ALL SELECT big, price FROM orders WHERE id < 3;

-- case: union_all_nullability
-- order: bag
SELECT 1 AS x UNION ALL SELECT v FROM orders WHERE id < 4;

-- case: union_all_char_lengths
-- order: bag
SELECT 'a' AS x UNION ALL SELECT 'bcd';

-- case: union_all_three
-- order: bag
SELECT i FROM t1 UNION ALL SELECT i FROM t2 UNION ALL SELECT id FROM orders WHERE id < 3;

-- case: union_all_then_group
-- order: folded
SELECT i, COUNT(*) AS n FROM (SELECT i FROM t1 UNION ALL SELECT i FROM t2) AS t GROUP BY i;

-- case: union_all_of_changelogs
-- mode: streaming
-- order: by src
SELECT 1 AS src, k, v FROM changes UNION ALL SELECT 2, k, v FROM orders WHERE id < 3;

-- case: union
-- order: bag
SELECT i, s FROM t1 UNION SELECT i, s FROM t2;

-- case: union_of_one_table
SELECT i FROM t1 UNION SELECT i FROM t1 WHERE i > 1;

-- case: intersect
-- order: folded
SELECT i, s FROM t1 INTERSECT SELECT i, s FROM t2;

-- case: intersect_all
-- order: folded
SELECT i, s FROM t1 INTERSECT ALL SELECT i, s FROM t2;

-- case: except
-- order: folded
SELECT i, s FROM t1 EXCEPT SELECT i, s FROM t2;

-- case: except_all
-- order: folded
SELECT i, s FROM t1 EXCEPT ALL SELECT i, s FROM t2;

-- case: except_nulls
-- order: folded
SELECT s FROM t1 EXCEPT SELECT s FROM t2;

-- case: union_precedence
-- order: folded
SELECT i FROM t1 UNION SELECT i FROM t2 INTERSECT SELECT id FROM orders;

-- case: union_in_parentheses
-- order: folded
(SELECT i FROM t1 UNION SELECT i FROM t2) EXCEPT SELECT 2;

-- case: different_number_of_columns
SELECT i FROM t1 UNION ALL SELECT i, s FROM t2;

-- case: different_types
SELECT i FROM t1 UNION ALL SELECT s FROM t2;

-- case: different_types_date
SELECT `day` FROM orders UNION ALL SELECT v FROM orders;

-- case: union_keeps_time_attribute
-- show: schema
SELECT id, ts FROM clicks UNION ALL SELECT id, ts FROM late_clicks;

-- case: union_of_time_and_plain
-- show: schema
SELECT id, ts FROM clicks UNION ALL SELECT id, ts FROM kinds;

-- case: union_with_order_and_limit
-- mode: batch
-- batch order: exact
SELECT i FROM t1 UNION SELECT i FROM t2 ORDER BY i LIMIT 3;

-- case: union_all_with_itself
SELECT COUNT(*) AS n FROM (SELECT i FROM t1 UNION ALL SELECT i FROM t1) AS t;

-- case: union_all_with_itself_rows
-- order: bag
SELECT i FROM t1 UNION ALL SELECT i FROM t1;

-- case: union_all_with_itself_grouped
-- order: folded
SELECT i, COUNT(*) AS n FROM (SELECT i FROM t1 UNION ALL SELECT i FROM t1) AS t GROUP BY i;

-- case: with_ttl_intersect
-- mode: streaming
-- order: folded
-- set: table.exec.state.ttl = 1 d
SELECT i, s FROM t1 INTERSECT SELECT i, s FROM t2;

-- case: with_ttl_except
-- mode: streaming
-- order: folded
-- set: table.exec.state.ttl = 1 d
SELECT i, s FROM t1 EXCEPT SELECT i, s FROM t2;

-- case: with_ttl_intersect_all
-- mode: streaming
-- order: folded
-- set: table.exec.state.ttl = 1 d
SELECT i, s FROM t1 INTERSECT ALL SELECT i, s FROM t2;

-- case: with_ttl_except_all
-- mode: streaming
-- order: folded
-- set: table.exec.state.ttl = 1 d
SELECT i, s FROM t1 EXCEPT ALL SELECT i, s FROM t2;

-- case: with_ttl_count_of_distinct
-- mode: streaming
-- set: table.exec.state.ttl = 1 d
-- note: rows that are given again are taken back first
SELECT MAX(k) AS m, COUNT(*) AS n FROM (SELECT DISTINCT k FROM orders WHERE id < 6) AS t;
