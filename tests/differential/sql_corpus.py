"""Expressions to compare with Flink SQL, over the rows of one view."""

from __future__ import annotations

TIME_ZONE = "Europe/Warsaw"

TYPES = {
    "id": "INT NOT NULL",
    "b": "BOOLEAN",
    "b2": "BOOLEAN",
    "ti": "TINYINT",
    "si": "SMALLINT",
    "i": "INT",
    "bi": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "p": "DECIMAL(10, 2)",
    "q": "DECIMAL(38, 18)",
    "z": "DECIMAL(5, 0)",
    "s": "STRING",
    "w": "STRING",
    "ch": "CHAR(5)",
    "vc": "VARCHAR(10)",
    "num": "STRING",
    "dts": "STRING",
    "js": "STRING",
    "dt": "DATE",
    "tm": "TIME",
    "ts3": "TIMESTAMP(3)",
    "ts": "TIMESTAMP(6)",
    "ltz": "TIMESTAMP_LTZ(3)",
    "bin": "BYTES",
    "arr": "ARRAY<INT>",
    "sarr": "ARRAY<STRING>",
    "m": "MAP<STRING, INT>",
    "r": "ROW<a INT, b STRING>",
    "n": "INT NOT NULL",
    "sn": "STRING NOT NULL",
    "k": "INT NOT NULL",
}
_VALUES = [
    """1|TRUE|TRUE|1|2|3|4|1.5|2.25|12.34|'123456789.123456789012345678'|42|'hello world'|'lo'
    |'abc'|'xyz'|'42'|'2020-02-29 12:34:56.789'
    |'{"a": 1, "b": "x", "c": [1, 2, 3], "d": {"e": true, "f": null}, "g": 1.5}'
    |'2020-02-29'|'12:34:56'|'2020-02-29 12:34:56.789'|'2020-02-29 12:34:56.789123'
    |'2020-02-29 12:34:56.789'|x'68656c6c6f'|ARRAY[1, 2, 3]|ARRAY['a', 'b', 'c']
    |MAP['a', 1, 'b', 2]|ROW(1, 'x')|7|'one'|2""",
    """2|FALSE|TRUE|-1|-2|-3|-4|-0.1|-1e10|-99.99|'-0.000000000000000001'|-3|'Żółw, ąę'|'ó'
    |'a'|''|'-7.5'|'1969-12-31 23:59:59'|'[1, "two", null, {"x": [5]}]'
    |'1969-12-31'|'00:00:00'|'1969-12-31 23:59:59.999'|'1969-12-31 23:59:59.000001'
    |'1969-12-31 23:59:59.5'|x''|ARRAY[5, CAST(NULL AS INT), 5]
    |ARRAY['b', CAST(NULL AS STRING), '']|MAP['a', CAST(NULL AS INT)]
    |ROW(CAST(NULL AS INT), 'y')|-7|'two'|1""",
    """3|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL
    |NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|0|''|0""",
    """4|TRUE|FALSE|127|32767|2147483647|'9223372036854775807'|3.402823e38|1e-5|99999999.99
    |'12345678901234567890.5'|99999|''|'a'|''|'0123456789'|'abc'|'not a time'|'not json'
    |'9999-12-31'|'23:59:59'|'2021-03-28 02:30:00'|'2016-12-31 23:59:59.999999'
    |'2021-10-31 02:30:00'|x'ff00ff'|ARRAY[0]|ARRAY['']|MAP['', 0]|ROW(0, '')|1|'three'|3""",
    """5|FALSE|NULL|-128|-32768|-2147483648|'-9223372036854775808'|0.1|12345678.9|0.00|0|0
    |'  padded  '|' '|'abcde'|'a_b%c'|' 12 '|'2024-02-30'|'null'
    |'2024-12-30'|'06:07:08'|'2024-01-01 00:00:00'|'2024-06-15 15:00:00'
    |'2024-07-04 01:02:03.004'|x'00'|ARRAY[3, 1, 2]|ARRAY['c', 'a', 'b']
    |MAP['z', 26, 'y', 25]|ROW(5, 'five')|100|'four'|0""",
]
COLUMNS = tuple(TYPES)


def _row(text: str) -> tuple[str, ...]:
    values = [each.strip() for each in text.split("|")]
    return tuple(
        f"CAST({value} AS {kind.removesuffix(' NOT NULL')})"
        for value, kind in zip(values, TYPES.values(), strict=True)
    )


ROWS = tuple(_row(text) for text in _VALUES)
"""The rows of the view, as expressions for each of ``COLUMNS``."""


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


LITERALS = _lines(r"""
'abc'
''
'it''s'
1
2147483648
9223372036854775807
-9223372036854775808
1.5
0.10
100.00
1e0
1.5e10
TRUE
NULL
DATE '2020-01-31'
TIME '10:11:12'
TIMESTAMP '2020-01-31 10:11:12'
TIMESTAMP '2020-01-31 10:11:12.123456'
x'0aff'
INTERVAL '1' DAY
INTERVAL '10' MINUTE
INTERVAL '1.5' SECOND
INTERVAL '1 02:03:04.567' DAY TO SECOND
INTERVAL '02:03' HOUR TO MINUTE
INTERVAL '1-2' YEAR TO MONTH
INTERVAL '3' YEAR
INTERVAL -'3' MONTH
""")

COMPARISONS = _lines(r"""
i = 3
i = n
i <> n
i < bi
i = 3.0
p > i
p = 12.34
d >= p
f = 0.1
f = d
s = 'hello world'
s > w
s < 'i'
ch = 'abc'
ch = 'abc  '
ch = vc
i = '3'
'3' < i
num = 42
d = '2.25'
p = '12.34'
b = TRUE
b = 'true'
b <> b2
dt = DATE '2020-02-29'
dt = '2020-02-29'
ts3 > dt
ts > ts3
ts = '2020-02-29 12:34:56.789123'
ltz > ts
tm < TIME '12:00:00'
bin = x'00'
i = NULL
i IS NULL
i IS NOT NULL
n IS NULL
i IS DISTINCT FROM bi
i IS NOT DISTINCT FROM NULL
b IS NOT DISTINCT FROM b2
i BETWEEN -3 AND 3
i NOT BETWEEN 0 AND n
i BETWEEN SYMMETRIC 3 AND -3
d BETWEEN 1 AND 3
i IN (3, -3)
i NOT IN (3, -3)
i IN (3, NULL)
s IN ('hello world', '')
p IN (12.34, 0)
i IN (3.0, 1)
dt IN (DATE '2020-02-29')
i IN (n, k)
GREATEST(i, n)
LEAST(i, n, k)
GREATEST(i, bi, d)
LEAST('a', 'b')
arr = ARRAY[1, 2, 3]
r = ROW(1, 'x')
INTERVAL '1' DAY > INTERVAL '1' HOUR
(i > 0) = b
""")

LOGIC = _lines(r"""
b AND b2
b OR b2
NOT b
NOT b2
b AND TRUE
b OR TRUE
b AND FALSE
b AND NULL
b IS TRUE
b IS NOT TRUE
b IS FALSE
b IS NOT FALSE
b2 IS UNKNOWN
b2 IS NOT UNKNOWN
i > 0 AND n > 0 OR k = 0
NOT (i > 0 OR n > 0)
n <> 0 AND 10 / n > 1
n = 0 OR 10 / n > 0
""")

ARITHMETIC = _lines(r"""
i + n
i - n
i * n
i / 2
n / 3
7 / 2
-7 / 2
1 / 0
n / n
i + 1
ti + ti
ti + 1
si * si
ti * si
bi + 1
bi + i
i + bi
i * 2.5
i + 1.5
i / 2.0
f + 1
f + d
d + f
f + p
p + f
f * i
bi + f
CASE WHEN b THEN f ELSE d END
CASE WHEN b THEN d ELSE f END
CASE WHEN b THEN p ELSE f END
COALESCE(f, d)
d * f
f - 1e0
.5
00.50
f * f
d / 2
d * p
d + i
d / 0
d / CAST(0 AS DOUBLE)
CAST(0 AS DOUBLE) / CAST(0 AS DOUBLE)
p + p
p - 0.005
p * p
p / p
p / 3
p / 7
n / p
z / z
z * z
z / 7
q + p
q * p
q / p
q * q
q / 3
z + i
bi * p
p + ti
p % 7
i % 5
n % 4
-7 % 4
bi % 5
d % 2
MOD(i, 4)
MOD(p, 3)
MOD(n, 0)
-i
-ti
-bi
-p
-d
+i
- (-n)
'1' + 2
s + 1
num * 2
i + NULL
ABS(i)
ABS(p)
ABS(d)
ABS(bi)
SIGN(i)
SIGN(p)
SIGN(d)
CEIL(d)
CEIL(p)
CEIL(f)
CEIL(i)
CEILING(d)
FLOOR(d)
FLOOR(p)
FLOOR(i)
FLOOR(-1.5)
ROUND(d, 1)
ROUND(d)
ROUND(p, 1)
ROUND(p, 0)
ROUND(p, -1)
ROUND(p)
ROUND(i, -1)
ROUND(n, -1)
ROUND(2.5, 0)
ROUND(-2.5, 0)
ROUND(1.005, 2)
ROUND(CAST(2.675 AS DOUBLE), 2)
ROUND(f, 1)
TRUNCATE(p, 1)
TRUNCATE(d, 1)
TRUNCATE(42.345, 2)
TRUNCATE(n, -1)
POWER(2, 10)
POWER(d, 2)
POWER(p, 2)
SQRT(n)
SQRT(p)
SQRT(4)
EXP(1)
EXP(d)
LN(n)
LN(10)
LOG10(100)
LOG10(n)
LOG2(8)
LOG(8)
LOG(2, 8)
LOG(10, n)
SIN(d)
COS(d)
TAN(1)
COT(1)
ASIN(0.5)
ACOS(0.5)
ATAN(1)
ATAN2(1, 2)
SINH(1)
COSH(1)
TANH(1)
DEGREES(1.5)
DEGREES(d)
RADIANS(180)
PI()
PI
E()
BIN(n)
BIN(4)
HEX(n)
HEX(s)
HEX(20)
UNHEX('68656c6c6f')
UNHEX(s)
CONV('100', 2, 10)
""")

CONDITIONAL = _lines(r"""
CASE WHEN i > 0 THEN 1 ELSE 0 END
CASE WHEN i > 0 THEN 'positive' WHEN i < 0 THEN 'no' END
CASE WHEN b THEN i ELSE d END
CASE WHEN b THEN i ELSE p END
CASE WHEN b THEN 'a' ELSE 'abc' END
CASE WHEN b THEN ch ELSE s END
CASE k WHEN 0 THEN 'zero' WHEN 1 THEN 'one' ELSE 'many' END
CASE WHEN n = 0 THEN NULL ELSE 10 / n END
CASE WHEN n = 0 THEN 0 ELSE 10 / n END
CASE WHEN b THEN 1 END
CASE WHEN b THEN dt ELSE DATE '2000-01-01' END
CASE WHEN b THEN ts3 ELSE ts END
CASE WHEN b THEN 1 ELSE 'a' END
CASE WHEN b THEN NULL ELSE 1 END
CASE WHEN b THEN ti ELSE bi END
CASE WHEN b THEN f ELSE p END
CASE WHEN b THEN INTERVAL '1' DAY ELSE INTERVAL '1' HOUR END
COALESCE(i, n)
COALESCE(i, k, 5)
COALESCE(s, 'none')
COALESCE(NULL, 1)
COALESCE(i, 1.5)
COALESCE(i, d)
COALESCE(n, 10 / k)
IFNULL(i, 0)
IFNULL(i, bi)
IFNULL(s, 'none')
NVL(i, 0)
NULLIF(n, 7)
NULLIF(i, n)
NULLIF(s, '')
NULLIF(p, 0)
IF(b, 'yes', 'no')
IF(b, i, bi)
IF(i > 0, i, 0)
IF(n = 0, 0, 10 / n)
IF(b, 1, 2.5)
IF(b, 'a', NULL)
IS_ALPHA(s)
IS_DECIMAL(num)
IS_DIGIT(num)
IS_ALPHA('abc')
IS_DECIMAL('1.5')
IS_DIGIT('42')
""")

CASTS = _lines(r"""
CAST(i AS BIGINT)
CAST(bi AS INT)
CAST(i AS TINYINT)
CAST(n AS TINYINT)
CAST(i AS FLOAT)
CAST(bi AS DOUBLE)
CAST(d AS INT)
CAST(d AS BIGINT)
CAST(d AS FLOAT)
CAST(f AS DOUBLE)
CAST(f AS INT)
CAST(p AS INT)
CAST(p AS DOUBLE)
CAST(q AS BIGINT)
CAST(p AS DECIMAL(10, 1))
CAST(p AS DECIMAL(5, 2))
CAST(q AS DECIMAL(20, 4))
CAST(i AS DECIMAL(12, 2))
CAST(i AS DECIMAL(5, 2))
CAST(d AS DECIMAL(20, 3))
CAST(d AS DECIMAL(5, 2))
CAST(n AS DECIMAL(3, 0))
CAST(n AS DECIMAL)
CAST(b AS INT)
CAST(n AS BOOLEAN)
CAST(b AS STRING)
CAST(i AS STRING)
CAST(bi AS STRING)
CAST(f AS STRING)
CAST(d AS STRING)
CAST(p AS STRING)
CAST(q AS STRING)
CAST(dt AS STRING)
CAST(tm AS STRING)
CAST(ts3 AS STRING)
CAST(ts AS STRING)
CAST(ltz AS STRING)
CAST(arr AS STRING)
CAST(sarr AS STRING)
CAST(m AS STRING)
CAST(r AS STRING)
CAST(bin AS STRING)
CAST(x'68656c6c6f' AS STRING)
CAST(INTERVAL '1' DAY AS STRING)
CAST(INTERVAL '1-2' YEAR TO MONTH AS STRING)
CAST(INTERVAL '1 02:03:04.567' DAY TO SECOND AS STRING)
CAST(s AS CHAR(3))
CAST(s AS VARCHAR(5))
CAST(s AS CHAR(12))
CAST(n AS VARCHAR(2))
CAST(n AS CHAR(5))
CAST(s AS BYTES)
CAST('42' AS INT)
CAST(' 42 ' AS INT)
CAST('42.9' AS INT)
CAST('-7' AS TINYINT)
CAST('300' AS TINYINT)
CAST('abc' AS INT)
CAST('' AS INT)
CAST('1e3' AS DOUBLE)
CAST('NaN' AS DOUBLE)
CAST('Infinity' AS DOUBLE)
CAST('12.345' AS DECIMAL(10, 2))
CAST('12.345' AS FLOAT)
CAST('true' AS BOOLEAN)
CAST('t' AS BOOLEAN)
CAST('yes' AS BOOLEAN)
CAST('1' AS BOOLEAN)
CAST('off' AS BOOLEAN)
CAST('maybe' AS BOOLEAN)
CAST('2020-02-29' AS DATE)
CAST('2020-2-9' AS DATE)
CAST('2020-02-30' AS DATE)
CAST('2020-02-29 10:00:00' AS DATE)
CAST('10:11:12' AS TIME)
CAST('10:11' AS TIME)
CAST('2020-02-29 10:11:12.345' AS TIMESTAMP(3))
CAST('2020-02-29 10:11:12.345678' AS TIMESTAMP(3))
CAST('2020-02-29 10:11:12' AS TIMESTAMP)
CAST('2020-02-29' AS TIMESTAMP(3))
CAST('2020-02-29T10:11:12' AS TIMESTAMP(3))
CAST('nonsense' AS TIMESTAMP(3))
CAST('2020-02-29 10:11:12.345' AS TIMESTAMP_LTZ(3))
CAST(dt AS TIMESTAMP(3))
CAST(dt AS TIMESTAMP_LTZ(3))
CAST(ts3 AS DATE)
CAST(ts3 AS TIME)
CAST(ts AS TIMESTAMP(3))
CAST(ts3 AS TIMESTAMP(6))
CAST(ts3 AS TIMESTAMP_LTZ(3))
CAST(ltz AS TIMESTAMP(3))
CAST(ltz AS DATE)
CAST(ltz AS TIME)
CAST(tm AS TIMESTAMP(3))
CAST(n AS TIMESTAMP(3))
CAST(ts3 AS BIGINT)
CAST(dt AS INT)
CAST(arr AS ARRAY<BIGINT>)
CAST(arr AS ARRAY<STRING>)
CAST(r AS ROW<x BIGINT, y STRING>)
CAST(m AS MAP<STRING, STRING>)
CAST(NULL AS INT)
CAST(num AS INT)
TRY_CAST(num AS INT)
TRY_CAST(num AS DOUBLE)
TRY_CAST(num AS DECIMAL(10, 1))
TRY_CAST(s AS BOOLEAN)
TRY_CAST(dts AS TIMESTAMP(3))
TRY_CAST(dts AS DATE)
TRY_CAST(n AS STRING)
TRY_CAST(s AS BYTES)
CAST(1.5e10 AS STRING)
CAST(CAST(0.001 AS DOUBLE) AS STRING)
CAST(CAST(1234567.0 AS DOUBLE) AS STRING)
CAST(CAST(12345678.0 AS DOUBLE) AS STRING)
CAST(CAST(100 AS FLOAT) AS STRING)
CAST(CAST(1.0E-5 AS FLOAT) AS STRING)
CAST(TIMESTAMP '2020-02-29 10:00:00' AS STRING)
CAST(CAST('2020-02-29 10:00:00.1' AS TIMESTAMP(9)) AS STRING)
TYPEOF(i)
TYPEOF(p)
TYPEOF('abc')
TYPEOF(n, TRUE)
""")

STRINGS = _lines(r"""
s || w
s || '!'
'a' || 'b'
ch || vc
i || 'x'
s || n
CHAR_LENGTH(s)
CHARACTER_LENGTH(s)
LENGTH(s)
OCTET_LENGTH(s)
CHAR_LENGTH(ch)
UPPER(s)
LOWER(s)
UCASE(s)
LCASE(s)
INITCAP(s)
UPPER('abc')
POSITION('o' IN s)
POSITION(w IN s)
POSITION('' IN s)
LOCATE('o', s)
LOCATE('o', s, 6)
INSTR(s, 'o')
TRIM(s)
TRIM(BOTH FROM s)
TRIM(LEADING ' ' FROM s)
TRIM(TRAILING ' ' FROM s)
TRIM(BOTH 'h' FROM s)
TRIM(BOTH 'he' FROM s)
LTRIM(s)
RTRIM(s)
LTRIM(s, 'h ')
RTRIM(s, 'd ')
BTRIM(s)
BTRIM(s, ' hd')
TRIM(w)
SUBSTRING(s FROM 2)
SUBSTRING(s FROM 2 FOR 3)
SUBSTRING(s, 2, 3)
SUBSTRING(s, 0)
SUBSTRING(s, 0, 2)
SUBSTRING(s, -3)
SUBSTRING(s, -3, 2)
SUBSTRING(s, 100)
SUBSTRING(s, 1, 100)
SUBSTRING(s, 2, 0)
SUBSTRING(s, n)
SUBSTRING(s, 2, -1)
SUBSTR(s, 3)
SUBSTR(s, 3, 2)
LEFT(s, 3)
RIGHT(s, 3)
LEFT(s, n)
RIGHT(s, n)
LEFT(s, -1)
RIGHT(s, 0)
OVERLAY(s PLACING 'XX' FROM 2)
OVERLAY(s PLACING 'XX' FROM 2 FOR 4)
OVERLAY(s PLACING 'XX' FROM 100)
OVERLAY(s PLACING 'XX' FROM -1)
REPLACE(s, 'l', 'L')
REPLACE(s, 'l', '')
REPLACE(s, '', 'x')
REPLACE(s, w, '_')
TRANSLATE(s, 'lo', '01')
TRANSLATE(s, 'lo', '0')
REPEAT(s, 2)
REPEAT(s, 0)
REPEAT('ab', n)
REVERSE(s)
LPAD(s, 5, '*')
LPAD('hi', 5, 'ab')
LPAD('hi', 1, '?')
RPAD('hi', 5, 'ab')
RPAD(s, 14, '-')
LPAD(s, n, '.')
LPAD('hi', 4, '')
CONCAT(s, w)
CONCAT('a', 'b', 'c')
CONCAT(s)
CONCAT('a', NULL)
CONCAT_WS('-', 'a', 'b')
CONCAT_WS('-', s, w, 'x')
CONCAT_WS(w, 'a', 'b')
CONCAT_WS(NULL, 'a', 'b')
CONCAT_WS(',', 'a', NULL, 'b')
s LIKE 'h%'
s LIKE '%o%'
s LIKE '_ello%'
s NOT LIKE 'h%'
vc LIKE 'a!_b!%c' ESCAPE '!'
vc LIKE 'a\_b%' ESCAPE '\'
s LIKE '%'
s LIKE ''
s LIKE w
s LIKE '%ó%'
s LIKE 'hello.world'
s SIMILAR TO '(hello|padded)%'
s SIMILAR TO '%[a-h]%'
s NOT SIMILAR TO 'h%'
vc SIMILAR TO 'x(y|z)+'
REGEXP(s, 'l+')
REGEXP(s, '^h')
s RLIKE 'l+'
REGEXP_EXTRACT(s, '(\w+) (\w+)', 2)
REGEXP_EXTRACT(s, 'o')
REGEXP_EXTRACT(s, '(o)(z)?', 2)
REGEXP_EXTRACT(s, '(o)', 3)
REGEXP_REPLACE(s, '[aeiou]', '#')
REGEXP_REPLACE(s, '(l+)', '<$1>')
REGEXP_REPLACE(s, '\s+', ' ')
REGEXP_REPLACE(s, '(', 'x')
REGEXP_COUNT(s, 'o')
REGEXP_INSTR(s, 'o')
REGEXP_SUBSTR(s, 'l+')
REGEXP_EXTRACT_ALL(s, '(o)', 1)
REGEXP_EXTRACT_ALL(s, '[aeiou]')
SPLIT_INDEX(s, ' ', 1)
SPLIT_INDEX(s, ' ', 0)
SPLIT_INDEX(s, 'l', 1)
SPLIT_INDEX(s, ' ', 5)
SPLIT_INDEX(s, ' ', -1)
SPLIT_INDEX(s, 32, 0)
SPLIT_INDEX('a,,b', ',', 1)
SPLIT(s, ' ')
SPLIT('a,b', '')
STR_TO_MAP('a=1,b=2')
STR_TO_MAP('a:1;b:2', ';', ':')
STR_TO_MAP(s)
ASCII(s)
ASCII('')
CHR(65)
CHR(n)
CHR(300)
CHR(-1)
DECODE(bin, 'UTF-8')
ENCODE(s, 'UTF-8')
ENCODE(s, 'UTF-16')
TO_BASE64(s)
FROM_BASE64('aGVsbG8=')
FROM_BASE64(TO_BASE64(s))
MD5(s)
SHA1(s)
SHA224(s)
SHA256(s)
SHA384(s)
SHA512(s)
SHA2(s, 256)
SHA2(s, 512)
MD5('')
ELT(2, 'a', 'b')
ELT(n, 'a', 'b')
SUBSTRING('abc', -5, 3)
SUBSTRING('abc', -2)
SUBSTRING('abc', 0, 0)
s || CAST(NULL AS STRING)
CONCAT(s, CAST(NULL AS STRING))
CONCAT_WS(',', 'a', CAST(NULL AS STRING), 'b')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'HOST')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'PATH')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'QUERY')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'QUERY', 'y')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'REF')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'PROTOCOL')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'FILE')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'AUTHORITY')
PARSE_URL('http://user:pw@example.com:8080/p/a?x=1&y=2#frag', 'USERINFO')
PARSE_URL(s, 'HOST')
PARSE_URL('http://example.com', 'PATH')
PARSE_URL('http://example.com', 'QUERY')
PARSE_URL('http://example.com/?a=1', 'FILE')
PARSE_URL('nonsense', 'HOST')
INET_ATON('127.0.0.1')
INET_ATON('1.2')
INET_ATON(s)
INET_NTOA(2130706433)
INET_NTOA(n)
TO_BASE64(bin)
FROM_BASE64('not base 64!')
DECODE(bin, 'US-ASCII')
ENCODE(s, 'ISO-8859-1')
ENCODE(s, 'nonsense')
UNHEX('abc')
HEX('')
PRINTF('%5s|%-5s|%.2s', 'abc', 'abc', 'abc')
PRINTF('%.2f %e', d, d)
PRINTF('%s %s', b, p)
PRINTF('%s', dt)
PRINTF('none')
LOWER('ABC') || ch
CHAR_LENGTH(TRIM(ch))
ch LIKE 'abc%'
s LIKE 'HELLO%'
vc LIKE '%\%%'
vc LIKE 'a_b_c'
s SIMILAR TO 'hello world'
vc SIMILAR TO '[0-9]{10}'
REGEXP_REPLACE(s, 'l', '')
REGEXP_EXTRACT('2020-02-29', '(\d+)-(\d+)', 1)
REGEXP('ABC', '(?i)abc')
SPLIT_INDEX('a|b', '|', 1)
SPLIT_INDEX(s, '', 1)
REPEAT('x', -1)
LPAD('hi', -1, 'x')
SUBSTRING(bin, 2)
OVERLAY('abc' PLACING 'Z' FROM 3 FOR 5)
POSITION('c' IN 'abcabc')
LOCATE('b', 'abcabc', 0)
LOCATE('', 'abc')
INSTR('abcabc', 'c')
TRANSLATE('aabb', 'ab', 'xyz')
INITCAP('o''neil mc-donald 1st')
LEFT('abc', 2)
TRIM('  abc  ')
LTRIM('  abc')
BTRIM('  abc  ')
REVERSE('abc')
UPPER(ch)
UPPER(vc)
REPLACE(ch, 'a', 'b')
ASCII('ü')
CONCAT(ch, vc)
CONCAT('a', 'b') = 'ab'
IS_ALPHA('Żółw')
IS_DIGIT('')
IS_DECIMAL('')
IS_DECIMAL('1e5')
IS_DECIMAL('-.5')
URL_ENCODE('a b&c/ü')
URL_DECODE('a+b%26c%2F%C3%BC')
URL_DECODE('%zz')
STARTSWITH(s, 'h')
ENDSWITH(s, 'd')
STARTSWITH(s, '')
PRINTF('%s has %d', s, n)
PRINTF('%05d|%x', n, n)
BTRIM('xxhixx', 'x')
s || NULL
UPPER(n)
SUBSTRING(ch, 2)
SUBSTRING('abc', 2)
""")

TEMPORAL = _lines(r"""
EXTRACT(YEAR FROM ts)
EXTRACT(QUARTER FROM ts)
EXTRACT(MONTH FROM dt)
EXTRACT(WEEK FROM dt)
EXTRACT(DAY FROM dt)
EXTRACT(DOY FROM dt)
EXTRACT(DOW FROM dt)
EXTRACT(ISODOW FROM dt)
EXTRACT(ISOYEAR FROM dt)
EXTRACT(HOUR FROM ts)
EXTRACT(MINUTE FROM ts)
EXTRACT(SECOND FROM ts)
EXTRACT(MILLISECOND FROM ts)
EXTRACT(MICROSECOND FROM ts)
EXTRACT(NANOSECOND FROM ts)
EXTRACT(EPOCH FROM ts)
EXTRACT(DECADE FROM dt)
EXTRACT(CENTURY FROM dt)
EXTRACT(MILLENNIUM FROM dt)
EXTRACT(HOUR FROM ltz)
EXTRACT(DAY FROM ltz)
EXTRACT(HOUR FROM tm)
EXTRACT(SECOND FROM tm)
EXTRACT(DAY FROM INTERVAL '3 04:05:06' DAY TO SECOND)
EXTRACT(MONTH FROM INTERVAL '1-2' YEAR TO MONTH)
EXTRACT(EPOCH FROM dt)
YEAR(dt)
QUARTER(dt)
MONTH(dt)
WEEK(dt)
DAYOFYEAR(dt)
DAYOFMONTH(dt)
DAYOFWEEK(dt)
HOUR(ts)
MINUTE(ts)
SECOND(ts)
YEAR(ts)
HOUR(ltz)
FLOOR(ts TO YEAR)
FLOOR(ts TO QUARTER)
FLOOR(ts TO MONTH)
FLOOR(ts TO WEEK)
FLOOR(ts TO DAY)
FLOOR(ts TO HOUR)
FLOOR(ts TO MINUTE)
FLOOR(ts TO SECOND)
FLOOR(ts TO MILLISECOND)
FLOOR(dt TO MONTH)
FLOOR(dt TO YEAR)
FLOOR(dt TO WEEK)
FLOOR(tm TO MINUTE)
FLOOR(ltz TO DAY)
FLOOR(ltz TO HOUR)
CEIL(ts TO YEAR)
CEIL(ts TO MONTH)
CEIL(ts TO DAY)
CEIL(ts TO HOUR)
CEIL(ts TO MINUTE)
CEIL(dt TO MONTH)
CEIL(tm TO MINUTE)
CEIL(ltz TO DAY)
TIMESTAMPADD(SECOND, 10, ts)
TIMESTAMPADD(MINUTE, n, ts3)
TIMESTAMPADD(HOUR, -1, ts)
TIMESTAMPADD(DAY, 1, dt)
TIMESTAMPADD(WEEK, 1, dt)
TIMESTAMPADD(MONTH, 1, dt)
TIMESTAMPADD(QUARTER, 1, ts3)
TIMESTAMPADD(YEAR, 1, ts3)
TIMESTAMPADD(HOUR, 1, dt)
TIMESTAMPADD(MONTH, 1, ltz)
TIMESTAMPADD(DAY, 1, ltz)
TIMESTAMPDIFF(SECOND, ts3, ts)
TIMESTAMPDIFF(MINUTE, TIMESTAMP '2020-01-01 00:00:00', ts)
TIMESTAMPDIFF(HOUR, TIMESTAMP '2020-01-01 00:00:00', ts)
TIMESTAMPDIFF(DAY, dt, ts)
TIMESTAMPDIFF(DAY, DATE '2020-01-01', dt)
TIMESTAMPDIFF(WEEK, DATE '2020-01-01', dt)
TIMESTAMPDIFF(MONTH, DATE '2020-01-31', dt)
TIMESTAMPDIFF(QUARTER, DATE '2020-01-31', dt)
TIMESTAMPDIFF(YEAR, DATE '2020-02-28', dt)
TIMESTAMPDIFF(DAY, ltz, ltz)
ts + INTERVAL '1' DAY
ts3 - INTERVAL '1' HOUR
ts3 + INTERVAL '1' MONTH
ts3 - INTERVAL '1' MONTH
dt + INTERVAL '1' DAY
dt - INTERVAL '1' MONTH
dt + INTERVAL '1' YEAR
dt + INTERVAL '1' HOUR
tm + INTERVAL '1' HOUR
tm - INTERVAL '1' MINUTE
ltz + INTERVAL '1' DAY
ltz - INTERVAL '1' MONTH
INTERVAL '1' DAY + ts
INTERVAL '1' DAY + INTERVAL '1' HOUR
INTERVAL '2' MONTH - INTERVAL '1' YEAR
INTERVAL '1' DAY * n
n * INTERVAL '1' MINUTE
ts3 + n * INTERVAL '1' SECOND
INTERVAL '10' MINUTE / 2
- INTERVAL '1' DAY
(ts3 - ts3) DAY
(ts - ts3) SECOND
(dt - DATE '2020-01-01') DAY
(dt - DATE '2020-01-01') MONTH
dt - dt
ts - ts3
DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss')
CASE WHEN b THEN dt ELSE ts END
COALESCE(ts, ltz)
CASE WHEN b THEN tm ELSE TIME '00:00:00' END
ltz = ts3
ltz - INTERVAL '1' HOUR
dt - INTERVAL '1' DAY
DATE_FORMAT(ts, 'yyyy/MM/dd HH:mm:ss.SSS')
DATE_FORMAT(ts3, 'dd MMM yyyy')
DATE_FORMAT(ts3, 'EEEE, d MMMM yy')
DATE_FORMAT(ts3, 'hh:mm a')
DATE_FORMAT(ts3, 'D')
DATE_FORMAT(ts3, 'yyyyMMdd')
DATE_FORMAT(ts3, 'Q')
DATE_FORMAT(dt, 'yyyy')
DATE_FORMAT(ltz, 'yyyy-MM-dd HH')
DATE_FORMAT('2020-02-29 10:11:12', 'HH')
DATE_FORMAT(dts, 'yyyy')
DATE_FORMAT('2024-02-30 10:00:00', 'dd')
DATE_FORMAT(ts, 'e E MMM S SSSSSS n')
DATE_FORMAT(ts, 'w W k K h H')
DATE_FORMAT(ts, 'yyyy''T''HH')
FROM_UNIXTIME(n, 'yyyy-MM-dd EEE')
TO_TIMESTAMP('2024-02-30 10:00:00')
TO_TIMESTAMP('5 Mar 2024', 'd MMM yyyy')
TO_TIMESTAMP('24/3/5', 'yy/M/d')
TO_TIMESTAMP('2020-02-29 10:11:12.123456789')
TO_TIMESTAMP('2020-2-9 1:2:3')
TO_DATE('2024-02-30')
TO_DATE('2020-2-9')
CAST('2024-02-30 10:00:00' AS TIMESTAMP(3))
CAST('2020-2-9 1:2:3' AS TIMESTAMP(3))
CAST('2020' AS DATE)
CAST('2020-02' AS DATE)
CAST('10' AS TIME)
CAST('25:00:00' AS TIME)
UNIX_TIMESTAMP('2024-02-30 10:00:00')
UNIX_TIMESTAMP('2020-02-29 10:11:12.5')
FLOOR(ts TO DECADE)
CEIL(ltz TO HOUR)
FLOOR(ltz TO MONTH)
FLOOR(ltz TO WEEK)
TIMESTAMPDIFF(MONTH, ltz, ts3)
TIMESTAMPDIFF(HOUR, ltz, ts)
TIMESTAMPDIFF(SECOND, tm, TIME '00:00:00')
TIMESTAMPADD(SECOND, 1.5, ts)
TIMESTAMPADD(MINUTE, 1, tm)
EXTRACT(MILLENNIUM FROM ts)
EXTRACT(EPOCH FROM ltz)
EXTRACT(MICROSECOND FROM tm)
EXTRACT(YEAR FROM tm)
YEAR(ltz)
QUARTER(ts)
WEEK(ts)
DAYOFMONTH(ltz)
SECOND(tm)
TO_DATE('2020-02-29')
TO_DATE('29/02/2020', 'dd/MM/yyyy')
TO_DATE(s)
TO_DATE(dts)
TO_TIMESTAMP('2020-02-29 10:11:12')
TO_TIMESTAMP('2020-02-29 10:11:12.345')
TO_TIMESTAMP('29.02.2020 10:11', 'dd.MM.yyyy HH:mm')
TO_TIMESTAMP('2020-02-29')
TO_TIMESTAMP('20200229101112', 'yyyyMMddHHmmss')
TO_TIMESTAMP(dts)
TO_TIMESTAMP(s)
TO_TIMESTAMP_LTZ(1600000000, 0)
TO_TIMESTAMP_LTZ(1600000000123, 3)
TO_TIMESTAMP_LTZ(n, 0)
TO_TIMESTAMP_LTZ(1600000000123)
TO_TIMESTAMP_LTZ('2020-02-29 10:11:12')
TO_TIMESTAMP_LTZ('29/02/2020', 'dd/MM/yyyy')
TO_TIMESTAMP_LTZ('2020-02-29 10:11:12', 'yyyy-MM-dd HH:mm:ss', 'Asia/Tokyo')
UNIX_TIMESTAMP('2020-02-29 10:11:12')
UNIX_TIMESTAMP('29/02/2020', 'dd/MM/yyyy')
UNIX_TIMESTAMP(dts)
FROM_UNIXTIME(1600000000)
FROM_UNIXTIME(n)
FROM_UNIXTIME(1600000000, 'yyyy')
CONVERT_TZ('2020-02-29 10:11:12', 'UTC', 'America/New_York')
CONVERT_TZ(dts, 'UTC', 'Asia/Kolkata')
(DATE '2020-01-01', INTERVAL '2' DAY) OVERLAPS (DATE '2020-01-02', DATE '2020-01-09')
(TIME '2:55:00', INTERVAL '1' HOUR) OVERLAPS (TIME '3:30:00', INTERVAL '2' HOUR)
ts3 BETWEEN TIMESTAMP '2000-01-01 00:00:00' AND TIMESTAMP '2022-01-01 00:00:00'
CURRENT_TIMESTAMP IS NOT NULL
LOCALTIMESTAMP IS NOT NULL
CURRENT_DATE > DATE '2020-01-01'
NOW() > ltz
CURRENT_TIME IS NULL
LOCALTIME IS NOT NULL
CURRENT_ROW_TIMESTAMP() IS NOT NULL
UNIX_TIMESTAMP() > 0
TYPEOF(CURRENT_TIMESTAMP)
TYPEOF(LOCALTIMESTAMP)
TYPEOF(CURRENT_TIME)
TYPEOF(LOCALTIME)
TYPEOF(NOW())
TYPEOF(CURRENT_ROW_TIMESTAMP())
TYPEOF(CURRENT_DATE)
""")

COLLECTIONS = _lines(r"""
ARRAY[1, 2, 3]
ARRAY[1, 2.5]
ARRAY[i, n]
ARRAY['a', 'bc']
ARRAY[1, NULL]
ARRAY[ARRAY[1], ARRAY[2, 3]]
MAP['a', 1, 'b', 2]
MAP[1, 'a']
MAP['a', i]
ROW(1, 'a')
(1, 'a')
ROW(i, s)
arr[1]
arr[4]
arr[k]
arr[k - 1]
sarr[-1]
sarr[2]
m['a']
m['q']
m[s]
r.a
r.b
t.i
t.r.a
ARRAY[1, 2][2]
CARDINALITY(arr)
CARDINALITY(m)
CARDINALITY(sarr)
ELEMENT(ARRAY[5])
ELEMENT(arr)
ARRAY_CONTAINS(arr, 5)
ARRAY_CONTAINS(arr, NULL)
ARRAY_CONTAINS(sarr, 'a')
ARRAY_DISTINCT(arr)
ARRAY_POSITION(arr, 2)
ARRAY_POSITION(arr, NULL)
ARRAY_REMOVE(arr, 5)
ARRAY_REMOVE(arr, NULL)
ARRAY_REVERSE(arr)
ARRAY_SLICE(arr, 2)
ARRAY_SLICE(arr, 1, 2)
ARRAY_SLICE(arr, -2)
ARRAY_SLICE(arr, -2, -1)
ARRAY_SORT(arr)
ARRAY_SORT(arr, FALSE)
ARRAY_SORT(arr, TRUE, FALSE)
ARRAY_UNION(arr, ARRAY[1, 9])
ARRAY_CONCAT(arr, ARRAY[1, 9])
ARRAY_CONCAT(arr, arr, arr)
ARRAY_INTERSECT(arr, ARRAY[1, 5])
ARRAY_EXCEPT(arr, ARRAY[1, 5])
ARRAY_APPEND(arr, 9)
ARRAY_APPEND(arr, NULL)
ARRAY_PREPEND(arr, 9)
ARRAY_MAX(arr)
ARRAY_MIN(arr)
ARRAY_JOIN(sarr, '-')
ARRAY_JOIN(sarr, '-', 'nil')
MAP_KEYS(m)
MAP_VALUES(m)
MAP_ENTRIES(m)
MAP_FROM_ARRAYS(ARRAY['a', 'b'], ARRAY[1, 2])
MAP_UNION(m, MAP['x', 9])
MAP_KEYS(MAP['a', 1])
ARRAY[f, d]
ARRAY[dt, DATE '2020-01-01']
ARRAY[ROW(1, 'a'), ROW(2, 'bc')]
ARRAY[ARRAY[1], ARRAY[2.5]]
MAP['a', 1, 'bc', 2.5]
MAP['a', ARRAY[1, 2]]
MAP['a', 1, 'a', 2]
ROW(1, ROW(2, 'x'))
ROW(1, 2)[1]
ARRAY[ROW(1, 'a')][1].EXPR$0
sarr[n]
arr[1] + 1
m['a'] + 1
CARDINALITY(ARRAY[1, NULL])
ARRAY_CONTAINS(ARRAY[1, 2], 1.0)
ARRAY_CONTAINS(ARRAY[DATE '2020-01-01'], DATE '2020-01-01')
ARRAY_SORT(sarr)
ARRAY_MAX(sarr)
ARRAY_MIN(ARRAY[2.5, 1.5])
ARRAY_CONCAT(ARRAY[1], ARRAY[2.5])
ARRAY_APPEND(ARRAY[1], 2.5)
ARRAY_JOIN(ARRAY['a', 'b'], ',')
ARRAY_DISTINCT(sarr)
ARRAY_REVERSE(sarr)
ARRAY_EXCEPT(arr, arr)
ARRAY_SLICE(arr, 0)
ARRAY_SLICE(arr, 3, 2)
ARRAY_SLICE(arr, 5)
MAP_ENTRIES(MAP['a', 1])
MAP_UNION(MAP['a', 1], MAP['a', 2])
ARRAY_POSITION(sarr, 'c')
arr IS NULL
arr <> ARRAY[0]
m = MAP['', 0]
CAST(ARRAY[1, 2] AS STRING)
CAST(ROW(1, 'a') AS ROW<x BIGINT, y STRING>)
CAST(ROW(1, 'a') AS STRING)
CAST(MAP['a', 1] AS MAP<STRING, BIGINT>)
COALESCE(arr, ARRAY[9])
CASE WHEN b THEN arr ELSE ARRAY[9] END
CASE WHEN b THEN r ELSE ROW(9, 'nine') END
CASE WHEN k > 0 THEN r END
IF(b, arr, arr)
NULLIF(s, w)
NULLIF(dt, DATE '2020-02-29')
NULLIF(i, 3.0)
GREATEST(s, w)
GREATEST(dt, DATE '2020-01-01')
LEAST(p, d)
GREATEST(1, NULL)
dt BETWEEN '2020-01-01' AND '2021-01-01'
ts3 > '2020-01-01 00:00:00'
tm = '12:34:56'
dt = ts3
b = 1
b > FALSE
s = 1
ltz = '2020-02-29 12:34:56.789'
ltz > ts3
ltz = dt
bin < x'ff'
s BETWEEN 'a' AND 'i'
(i, k) = (3, 2)
(1, 2) IN ((1, 2), (3, 4))
r IS NOT NULL
i = 3 IS TRUE
NOT i = 3
NOT b AND b2
i IN (SELECT 1)
INTERVAL '1' MONTH = INTERVAL '30' DAY
INTERVAL '14' MONTH > INTERVAL '1' YEAR
'abc' < 'abd'
'a' = 'a  '
'Z' < 'a'
'ü' > 'z'
""")

JSON = _lines(r"""
js IS JSON
js IS NOT JSON
js IS JSON VALUE
js IS JSON SCALAR
js IS JSON ARRAY
js IS JSON OBJECT
JSON_EXISTS(js, '$.a')
JSON_EXISTS(js, 'lax $.d.e')
JSON_EXISTS(js, 'strict $.a')
JSON_EXISTS(js, 'strict $.a' FALSE ON ERROR)
JSON_VALUE(js, '$.a')
JSON_VALUE(js, '$.b')
JSON_VALUE(js, '$.c[1]')
JSON_VALUE(js, '$.c')
JSON_VALUE(js, '$.d.e')
JSON_VALUE(js, '$.d.f')
JSON_VALUE(js, '$[1]')
JSON_VALUE(js, '$.a' RETURNING INT)
JSON_VALUE(js, '$.g' RETURNING DOUBLE)
JSON_VALUE(js, '$.d.e' RETURNING BOOLEAN)
JSON_VALUE(js, '$.b' RETURNING INT)
JSON_VALUE(js, '$.a' DEFAULT 'none' ON EMPTY)
JSON_VALUE(js, 'lax $.q' DEFAULT '-' ON EMPTY DEFAULT '!' ON ERROR)
JSON_VALUE(js, 'lax $.q' NULL ON EMPTY ERROR ON ERROR)
JSON_VALUE('{"a": "x"}', 'strict $.q' DEFAULT 'e' ON ERROR)
JSON_QUERY(js, '$.c')
JSON_QUERY(js, '$.d')
JSON_QUERY(js, '$.a')
JSON_QUERY(js, '$.a' WITH WRAPPER)
JSON_QUERY(js, '$.c' WITH CONDITIONAL ARRAY WRAPPER)
JSON_QUERY(js, '$.c' WITH UNCONDITIONAL ARRAY WRAPPER)
JSON_QUERY(js, '$.c[*]' WITH WRAPPER)
JSON_QUERY(js, '$.q' EMPTY ARRAY ON EMPTY)
JSON_QUERY(js, '$.q' EMPTY OBJECT ON EMPTY)
JSON_QUERY(js, '$[3]')
JSON_QUERY('{"c": [1, "x"]}', '$.c' RETURNING ARRAY<STRING>)
JSON_STRING(i)
JSON_STRING(s)
JSON_STRING(arr)
JSON_STRING(r)
JSON_STRING(m)
JSON_STRING(p)
JSON_STRING(b)
JSON_STRING(dt)
JSON_STRING(tm)
JSON_STRING(ts3)
JSON_STRING(ts)
JSON_STRING(ltz)
JSON_STRING(bin)
JSON_STRING(d)
JSON_STRING(f)
JSON_STRING(n)
JSON_QUOTE('a/b"c\d')
JSON_UNQUOTE('"\u0041\n"')
JSON_VALUE(js, 'lax $.c[5]')
JSON_VALUE(js, 'lax $.d')
JSON_VALUE('{"a": 1e10, "b": 1.50, "c": 12345678901234567890}', '$.a')
JSON_VALUE('{"a": 1e10, "b": 1.50, "c": 12345678901234567890}', '$.b')
JSON_VALUE('{"a": 1e10, "b": 1.50, "c": 12345678901234567890}', '$.c')
JSON_QUERY('{"a": [1e10, 1.50, 12345678901234567890, "ü\""]}', '$.a')
JSON_QUERY(js, 'lax $.c[*]')
JSON_QUERY(js, '$..e')
JSON_QUERY(js, 'lax $.q' EMPTY ARRAY ON EMPTY)
JSON_QUERY(js, 'lax $.q' EMPTY OBJECT ON EMPTY)
JSON_VALUE('[1, 2, 3]', '$[-1]')
JSON_VALUE('{"a b": 1}', '$["a b"]')
JSON_VALUE('{"a": 1}', '$.a' RETURNING DOUBLE)
JSON_EXISTS('{"a": null}', '$.a')
JSON_EXISTS('[1]', '$[*]')
JSON_EXISTS('not json', 'lax $.a' TRUE ON ERROR)
JSON_EXISTS('not json', 'strict $.a' UNKNOWN ON ERROR)
JSON_OBJECT('x' VALUE JSON_OBJECT('y' VALUE 1))
JSON_OBJECT('x' VALUE dt, 'y' VALUE ts3, 'z' VALUE arr, 'w' VALUE r)
JSON_OBJECT('x' VALUE f, 'y' VALUE bin, 'z' VALUE m)
JSON_ARRAY(JSON_ARRAY(1), JSON_OBJECT('a' VALUE 2))
JSON_OBJECT('a' VALUE 1, 'b' VALUE s)
JSON_OBJECT(KEY 'a' VALUE i ABSENT ON NULL)
JSON_OBJECT('a' VALUE i NULL ON NULL)
JSON_OBJECT()
JSON_ARRAY(1, 'a', i)
JSON_ARRAY(i NULL ON NULL)
JSON_ARRAY()
JSON_OBJECT('x' VALUE JSON_ARRAY(1, 2))
JSON_OBJECT('x' VALUE p, 'y' VALUE d, 'z' VALUE b)
JSON_QUOTE(s)
JSON_UNQUOTE('"a\"b"')
JSON_UNQUOTE(js)
""")

NONDETERMINISTIC = _lines(r"""
RAND() < 1
RAND() = RAND()
RAND_INTEGER(10) < 10
RAND(1) < 1
RAND_INTEGER(1, 10) < 10
CHAR_LENGTH(UUID())
TYPEOF(RAND())
TYPEOF(RAND_INTEGER(10))
TYPEOF(UUID())
""")

REFUSED = _lines(r"""
i + b
s AND b
NOT i
NO_SUCH_FUNCTION(i)
UPPER()
UPPER(s, s)
ABS(s)
i LIKE 'a'
missing
SUBSTRING(s)
CAST(arr AS INT)
CAST(dt AS BOOLEAN)
i = b
arr + 1
arr['a']
r.missing
CASE WHEN i THEN 1 END
dt + 1
ts + ts
EXTRACT(FOO FROM ts)
IF(i, 1, 2)
COALESCE(i, s)
ARRAY[1, 'a']
CONCAT(s, i)
UPPER(i)
""")

_NUMBERS = ("ti", "si", "i", "bi", "f", "d", "p", "q", "z", "n")
_TARGETS = (
    "BOOLEAN",
    "TINYINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(12, 3)",
    "CHAR(4)",
    "VARCHAR(6)",
    "STRING",
    "BINARY(3)",
    "BYTES",
    "DATE",
    "TIME",
    "TIMESTAMP(0)",
    "TIMESTAMP(6)",
    "TIMESTAMP_LTZ(3)",
    "ARRAY<STRING>",
    "MAP<STRING, BIGINT>",
    "ROW<a BIGINT, b STRING>",
)


def _generated() -> list[str]:
    """Arithmetic of all pairs of numbers, and casts of all types to others."""
    pairs = [(one, two) for one in _NUMBERS for two in _NUMBERS]
    made = [f"{one} {sign} {two}" for one, two in pairs for sign in "+-*"]
    made += [f"{one} / NULLIF({two}, 0)" for one, two in pairs]
    made += [f"MOD({one}, NULLIF({two}, 0))" for one, two in pairs if not {one, two} & {*"fd"}]
    made += [f"CASE WHEN b THEN {one} ELSE {two} END" for one, two in pairs if one < two]
    made += [f"COALESCE({one}, {two})" for one, two in pairs if one > two]
    made += [f"{one} < {two}" for one, two in pairs if one < two]
    columns = [each for each in TYPES if each not in ("id", "b2", "si", "sn", "k", "w", "n")]
    made += [f"TRY_CAST({each} AS {target})" for each in columns for target in _TARGETS]
    return made


GENERATED = tuple(_generated())

# What the tests of Flink itself ask for, in words and with rows of our own.
OF_FLINKS_TESTS = (
    "`LEFT`(s, 3)",
    "`Upper`(s)",
    "INSTR(s, 'l', 1, 2)",
    "INSTR(s, 'l', -1, 1)",
    "INSTR(s, 'lo', -2)",
    "INSTR(s, '', -1)",
    "INSTR(s, 'o', k)",
    "SPLIT_INDEX(s, 0, 0)",
    "SPLIT_INDEX(s, 300, 0)",
    "SPLIT_INDEX(s, 32, 1)",
    "CHR(bi)",
    "HASH_CODE(s)",
    "HASH_CODE(bi)",
    "HASH_CODE(d)",
    "HASH_CODE(f)",
    "HASH_CODE(b)",
    "HASH_CODE(dt)",
    "MD5(bin)",
    "SHA256(bin)",
    "SHA2(bin, 512)",
    "FROM_BASE64(CAST(TO_BASE64(s) AS BYTES))",
    "s SIMILAR TO 'h.l%'",
    "vc SIMILAR TO '^x.*'",
    "dt = s",
    "ts3 <> dts",
    "tm = s OR b",
    "dt IS DISTINCT FROM s",
    "CEIL(CAST('2024-03-09' AS DATE) TO DAY)",
    "FLOOR(dt TO HOUR)",
    "FLOOR(ts TO CENTURY)",
    "CEIL(ts3 TO DECADE)",
    "FLOOR(dt TO MILLENNIUM)",
    "TIMESTAMPADD(MONTH, 5, tm)",
    "TIMESTAMPADD(DAY, i, tm)",
    "TO_TIMESTAMP_LTZ(bi, 0)",
    "TO_DATE('2024-7-4', 'yyyy-MM-dd')",
    "TO_TIMESTAMP('2024-7-4 5:06:7', 'yyyy-MM-dd HH:mm:ss')",
    "TO_TIMESTAMP('2024-07-04 25:61:00', 'yyyy')",
    "TO_TIMESTAMP('2024-07-04 05:06:07.5', 'yyyy-MM-dd HH:mm:ss.SSS')",
    "UNIX_TIMESTAMP('2024-13-04 25:06:07 and more')",
    "UNIX_TIMESTAMP('2024-7-4', 'yyyy-MM-dd')",
    "DATE_FORMAT('2024-7-4 5:6:7', 'yyyy-MM-dd HH:mm:ss')",
    "CONVERT_TZ('2024-7-4 5:6:7', 'UTC', 'Asia/Kolkata')",
    "MAP[MAP[k, 1], 2]",
    'JSON_QUERY(\'{"b": {"z": 1, "a": [{"y": 2, "x": 3}]}}\', \'$.b\')',
    "JSON_QUERY('[{\"b\": 1, \"a\": 2}, 3]', '$' RETURNING ARRAY<STRING>)",
    "JSON_QUERY('[1]', '$' RETURNING ARRAY<STRING> EMPTY OBJECT ON ERROR)",
    "JSON_VALUE('{\"a b\": 1}', 'strict $.[''a b'']')",
    "JSON_OBJECT('j' VALUE JSON('{\"b\": 1, \"a\": [1.50]}'), 's' VALUE s)",
    "JSON_ARRAY(JSON('  '), JSON('[]') NULL ON NULL)",
    "JSON_ARRAY(JSON('{'))",
    "JSON('{}')",
    'JSON_UNQUOTE(\'"""\')',
    "JSON_UNQUOTE('\"a\\u0062\\n\"')",
    "RAND(k)",
    "RAND_INTEGER(k, 64)",
)

# What random expressions found, in a short form.
OF_RANDOM_EXPRESSIONS = (
    "UPPER(NULL)",
    "ROUND(d, NULL)",
    "NOT NULL",
    "b IS TRUE OR NULL",
    "NULL IS TRUE",
    "s LIKE NULL",
    "SPLIT_INDEX(s, NULL, 1)",
    "TIMESTAMPADD(DAY, NULL, dt)",
    "m[NULL]",
    "ARRAY_UNION(arr, NULL)",
    "CASE WHEN b THEN NULL END",
    "NULLIF(NULL, i)",
    "STARTSWITH(s, NULL)",
    "ARRAY_CONTAINS(arr, NULL)",
    "URL_ENCODE(NULL)",
    "BTRIM(s, NULL)",
    "i IN (s, NULL)",
    "ts3 IN (dts, NULL)",
    "i IN (3, NULL)",
    "ts3 IN ('2024-01-01 00:00:00', '2020-02-29 12:34:56.789')",
    "dt IN ('2020-02-29', '1969-12-31')",
    "CASE WHEN b THEN ltz ELSE ts END",
    "CASE WHEN b THEN ts ELSE ltz END",
    "CASE WHEN b THEN ts3 ELSE ltz END",
    "CASE WHEN b THEN ltz ELSE ts3 END",
    "ARRAY[ts, ltz]",
    "COALESCE(ltz, ts)",
    "TO_TIMESTAMP_LTZ(dts)",
    "TO_TIMESTAMP_LTZ('2020-02-29')",
    "TO_TIMESTAMP_LTZ('no time')",
    "TO_TIMESTAMP_LTZ('no time', 'yyyy-MM-dd')",
    "CASE WHEN k = 2 THEN TO_TIMESTAMP_LTZ(dts) END",
    "'\U0001f600'",
    "'\U0001f600' || 'a'",
    "COALESCE('\U0001f600', 'abc')",
    "x'00ff' || x'6162'",
    "CAST(x'0102' AS BINARY(3)) || x'61'",
    "TIMESTAMP '2020-01-01 00:00:00' + INTERVAL '1.5' SECOND",
    "TIME '10:11:12' - INTERVAL '1.5' SECOND",
    "CAST(ts AS TIMESTAMP(0)) + INTERVAL '1.5' SECOND",
    "CEIL(ts TO SECOND)",
    "CEIL(ts TO MILLISECOND)",
    "ARRAY_SORT(arr, FALSE, b)",
    "ARRAY_SORT(ARRAY[CAST('NaN' AS DOUBLE), d, 1e0])",
    "ARRAY_MAX(ARRAY[r])",
    "ARRAY_SORT(ARRAY[arr])",
    "ARRAY_CONTAINS(arr, bi)",
    "ARRAY_CONTAINS(arr, ti)",
    "ARRAY_POSITION(arr, 2.0)",
    "ARRAY_APPEND(ARRAY[1], i)",
    "ARRAY_PREPEND(ARRAY[1], i)",
    "ARRAY_APPEND(ARRAY[1], n)",
    "SQRT(CAST('-0.0' AS DOUBLE))",
    "SQRT(CAST('-Infinity' AS DOUBLE))",
    "SINH(d)",
    "SIGN(CAST('-0.0' AS DOUBLE))",
    "ROUND(LN(n), 2)",
    "TRUNCATE(LN(n), 2)",
    "CAST(LN(n) AS DECIMAL(10, 2))",
    "CASE WHEN n > 0 THEN ROUND(LN(n), 2) END",
    "JSON_STRING(CAST('-0.0' AS DOUBLE))",
    "JSON_STRING(CAST(r AS ROW<z INT, y STRING>))",
    "JSON_OBJECT('z' VALUE CAST(r AS ROW<z INT, y STRING>), 'y' VALUE 1)",
    "JSON_ARRAY(CAST(r AS ROW<z INT, y STRING>))",
    "TRANSLATE(s, CAST(NULL AS STRING), 'x')",
    "TRANSLATE(s, 'lo', CAST(NULL AS STRING))",
    "JSON_OBJECT('b' VALUE i, 'a' VALUE s)",
    "JSON_OBJECT('b' VALUE JSON_OBJECT('z' VALUE 1, 'y' VALUE i), 'a' VALUE m)",
    "CEIL(ltz TO WEEK)",
    "CEIL(CAST('2024-06-16 10:00:00' AS TIMESTAMP(3)) TO WEEK)",
    "INET_ATON('12345')",
    "INET_ATON('1.65536')",
    "INET_ATON('1.2.3')",
    "OVERLAY(s PLACING 'Q' FROM 3 FOR 0)",
    "TO_TIMESTAMP(' 2020-02-29 12:34:56')",
    "TRY_CAST('2020-02-29 12:34:56 ' AS TIMESTAMP(3))",
    "TRY_CAST(' 2020-02-29 ' AS DATE)",
    "TRY_CAST('2020-02-29T12:34:56' AS DATE)",
    "TO_DATE('2020-02-29T12:34:56')",
    "TO_TIMESTAMP_LTZ(1.5, 0)",
    "TO_TIMESTAMP_LTZ(p, 0)",
    "CONVERT_TZ('2021-03-28 02:30:00', 'GMT+2', 'UTC')",
    "CONVERT_TZ('2021-03-28 02:30:00', 'GMT-05:30', 'UTC')",
    "CONVERT_TZ('2021-03-28 02:30:00', 'nowhere', 'UTC')",
    "CONVERT_TZ('2021-10-31 02:30:00', 'Europe/Warsaw', 'UTC')",
    "CONVERT_TZ('2021-01-01 00:00:00', 'UTC', 'PST')",
    "CONVERT_TZ('2021-01-01 00:00:00', 'UTC', 'EST')",
    "CONVERT_TZ('2021-01-01 00:00:00', 'UTC', '+02:00')",
    "UNIX_TIMESTAMP('2021-10-31 02:30:00')",
    "UNIX_TIMESTAMP('2021-03-28 02:30:00')",
    "UNHEX('G')",
    "UNHEX('a1c')",
    "PRINTF('%5.2f', p)",
    "PRINTF('%.1f|%.0f', d, d)",
    "PRINTF('%d', s)",
    "PRINTF('%d', d)",
    "PRINTF('%s %s', s)",
    "(i, s) IN ((3, 'hello world'), (1, 'x'))",
    "ARRAY_REMOVE(ARRAY[1], i)",
    "ARRAY_CONTAINS(ARRAY['a', 'b'], s)",
    "ARRAY_POSITION(ARRAY['a', 'b'], 'abc')",
    "ARRAY_APPEND(ARRAY['a'], 'bcd')",
    "ARRAY_APPEND(ARRAY['a'], s)",
    "ARRAY_APPEND(ARRAY[p], i)",
    "ARRAY_CONTAINS(ARRAY[p], d)",
    "ARRAY_CONTAINS(ARRAY[f], d)",
    "ARRAY_CONTAINS(ARRAY[d], i)",
)

EXPRESSIONS = tuple(
    dict.fromkeys(
        [
            *LITERALS,
            *COMPARISONS,
            *LOGIC,
            *ARITHMETIC,
            *CONDITIONAL,
            *CASTS,
            *STRINGS,
            *TEMPORAL,
            *COLLECTIONS,
            *JSON,
            *NONDETERMINISTIC,
            *REFUSED,
            *OF_FLINKS_TESTS,
            *OF_RANDOM_EXPRESSIONS,
        ]
    )
)
