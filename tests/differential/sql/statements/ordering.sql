-- ORDER BY, LIMIT, OFFSET; in streams only by time.

-- case: order_by
-- batch order: exact
SELECT id, v FROM orders ORDER BY v, id;

-- case: order_by_desc
-- batch order: exact
SELECT id, v FROM orders ORDER BY v DESC, id;

-- case: nulls_first
-- batch order: exact
-- mode: batch
SELECT id, v FROM orders ORDER BY v NULLS LAST, id DESC;

-- case: nulls_last_desc
-- batch order: exact
-- mode: batch
SELECT id, v FROM orders ORDER BY v DESC NULLS FIRST, id;

-- case: order_by_text
-- batch order: exact
-- mode: batch
SELECT x FROM (VALUES ('b'), ('B'), ('a'), ('ä'), (''), ('aa')) AS t(x) ORDER BY x;

-- case: order_by_ordinal
-- batch order: exact
-- mode: batch
SELECT k, id FROM orders ORDER BY 2 DESC;

-- case: order_by_alias
-- batch order: exact
-- mode: batch
SELECT id, v * -1 AS w FROM orders WHERE v IS NOT NULL ORDER BY w, id;

-- case: order_by_not_selected
-- batch order: exact
-- mode: batch
SELECT id FROM orders WHERE price IS NOT NULL ORDER BY price, id;

-- case: order_by_expression
-- batch order: exact
-- mode: batch
SELECT id, v FROM orders WHERE v IS NOT NULL ORDER BY ABS(v - 10), id;

-- case: order_by_boolean
-- batch order: exact
-- mode: batch
SELECT id, flag FROM orders ORDER BY flag, id;

-- case: limit
-- batch order: exact
SELECT id FROM orders LIMIT 3;

-- case: limit_zero
SELECT id FROM orders LIMIT 0;

-- case: limit_all
SELECT id FROM orders LIMIT ALL;

-- case: fetch_first
SELECT id FROM orders FETCH FIRST 2 ROWS ONLY;

-- case: offset
-- batch order: exact
SELECT id FROM orders OFFSET 10;

-- case: limit_offset
-- batch order: exact
SELECT id FROM orders LIMIT 2 OFFSET 3;

-- case: order_limit
-- batch order: exact
-- note: in a stream the first three by v, with what falls out of them
SELECT id, v FROM orders WHERE v IS NOT NULL ORDER BY v, id LIMIT 3;

-- case: order_limit_desc
-- batch order: exact
SELECT id, v FROM orders ORDER BY v DESC, id LIMIT 3;

-- case: order_limit_offset
-- batch order: exact
SELECT id, v FROM orders WHERE v IS NOT NULL ORDER BY v DESC, id LIMIT 2 OFFSET 1;

-- case: order_limit_of_aggregate
-- batch order: exact
SELECT k, COUNT(*) AS n FROM orders WHERE k < 'd' GROUP BY k ORDER BY n DESC, k LIMIT 2;

-- case: limit_of_aggregate
-- mode: streaming
-- show: schema
-- note: which rows stay is Flink's own affair
SELECT k, COUNT(*) AS n FROM orders GROUP BY k LIMIT 2;

-- case: order_by_time
-- batch order: exact
-- note: rows wait for the watermark
SELECT id, ts FROM clicks ORDER BY ts;

-- case: order_by_time_and_more
-- batch order: exact
SELECT id, name, ts FROM clicks ORDER BY ts, id DESC;

-- case: order_by_time_late
-- mode: streaming
SELECT id, ts FROM late_clicks ORDER BY ts;

-- case: order_by_time_desc
-- batch order: exact
SELECT id, ts FROM clicks ORDER BY ts DESC;

-- case: order_by_more_before_time
-- mode: streaming
SELECT id, name, ts FROM clicks ORDER BY name, ts;

-- case: order_by_of_aggregate
-- batch order: exact
SELECT k, COUNT(*) AS n FROM orders GROUP BY k ORDER BY n, k;

-- case: order_by_unknown
SELECT id FROM orders ORDER BY nope;

-- case: order_by_ordinal_out_of_range
SELECT id FROM orders ORDER BY 2;

-- case: limit_negative
SELECT id FROM orders LIMIT -1;

-- case: limit_expression
SELECT id FROM orders LIMIT 1 + 1;

-- case: order_in_subquery
SELECT MAX(id) AS m FROM (SELECT id FROM orders ORDER BY v) AS t;

-- case: limit_in_subquery
SELECT COUNT(*) AS n FROM (SELECT id FROM orders LIMIT 4) AS t;

-- case: order_in_view
-- mode: batch
CREATE VIEW sorted AS SELECT id FROM orders ORDER BY id DESC LIMIT 2;
SELECT * FROM sorted;

-- case: order_limit_nothing
SELECT id, v FROM orders ORDER BY v LIMIT 0;

-- case: by_rows
-- mode: batch
-- batch order: exact
SELECT id FROM nested ORDER BY addr, id;

-- case: by_rows_descending
-- mode: batch
-- batch order: exact
SELECT id FROM nested ORDER BY addr DESC, id;

-- case: with_ttl_limit
-- mode: streaming
-- set: table.exec.state.ttl = 1 d
SELECT id FROM orders LIMIT 2 OFFSET 3;
