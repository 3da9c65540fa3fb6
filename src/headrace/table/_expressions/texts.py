"""Functions of texts."""

from __future__ import annotations

from typing import Any, Self

from headrace.table._expressions.base import ExpressionTree


class TextFunctions(ExpressionTree):
    """Functions of texts."""

    def starts_with(self, start_expr: Any) -> Self:
        """Return STARTSWITH."""
        return self._call("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Self:
        """Return ENDSWITH."""
        return self._call("ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Self:
        """Return SUBSTRING."""
        return self._call("SUBSTRING", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Self:
        """Return SUBSTR."""
        return self._call("SUBSTR", begin_index, length)

    def replace(self, search: Any = None, replacement: Any = None) -> Self:
        """Return REPLACE."""
        return self._call("REPLACE", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Self:
        """Return TRANSLATE."""
        return self._call("TRANSLATE", from_str, to_str)

    @property
    def char_length(self) -> Self:
        """Return CHAR_LENGTH."""
        return self._call("CHAR_LENGTH")

    @property
    def upper_case(self) -> Self:
        """Return UPPER."""
        return self._call("UPPER")

    @property
    def lower_case(self) -> Self:
        """Return LOWER."""
        return self._call("LOWER")

    @property
    def init_cap(self) -> Self:
        """Return INITCAP."""
        return self._call("INITCAP")

    def lpad(self, length: Any, pad: Any) -> Self:
        """Return LPAD."""
        return self._call("LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Self:
        """Return RPAD."""
        return self._call("RPAD", length, pad)

    def regexp(self, regex: Any) -> Self:
        """Return REGEXP."""
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Self:
        """Return REGEXP_COUNT."""
        return self._call("REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Self:
        """Return REGEXP_REPLACE."""
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Self:
        """Return REGEXP_EXTRACT."""
        return self._call("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Self:
        """Return REGEXP_EXTRACT_ALL."""
        return self._call("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Self:
        """Return REGEXP_INSTR."""
        return self._call("REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Self:
        """Return REGEXP_SUBSTR."""
        return self._call("REGEXP_SUBSTR", regex)

    @property
    def from_base64(self) -> Self:
        """Return FROM_BASE64."""
        return self._call("FROM_BASE64")

    @property
    def to_base64(self) -> Self:
        """Return TO_BASE64."""
        return self._call("TO_BASE64")

    @property
    def ascii(self) -> Self:
        """Return ASCII."""
        return self._call("ASCII")

    @property
    def chr(self) -> Self:
        """Return CHR."""
        return self._call("CHR")

    def decode(self, charset: Any) -> Self:
        """Return DECODE."""
        return self._call("DECODE", charset)

    def encode(self, charset: Any) -> Self:
        """Return ENCODE."""
        return self._call("ENCODE", charset)

    def left(self, length: Any) -> Self:
        """Return LEFT."""
        return self._call("LEFT", length)

    def right(self, length: Any) -> Self:
        """Return RIGHT."""
        return self._call("RIGHT", length)

    def instr(self, s: Any) -> Self:
        """Return INSTR."""
        return self._call("INSTR", s)

    def url_decode(self) -> Self:
        """Return URL_DECODE."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Self:
        """Return URL_ENCODE."""
        return self._call("URL_ENCODE")

    def inet_aton(self) -> Self:
        """Return INET_ATON."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Self:
        """Return INET_NTOA."""
        return self._call("INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Self:
        """Return PARSE_URL."""
        return self._call("PARSE_URL", part_to_extract, key)

    def ltrim(self, trim_str: Any = None) -> Self:
        """Return LTRIM."""
        return self._call("LTRIM", trim_str)

    def rtrim(self, trim_str: Any = None) -> Self:
        """Return RTRIM."""
        return self._call("RTRIM", trim_str)

    def btrim(self, trim_str: Any = None) -> Self:
        """Return BTRIM."""
        return self._call("BTRIM", trim_str)

    def repeat(self, n: Any) -> Self:
        """Return REPEAT."""
        return self._call("REPEAT", n)

    @property
    def reverse(self) -> Self:
        """Return REVERSE."""
        return self._call("REVERSE")

    def split_index(self, separator: Any, index: Any) -> Self:
        """Return SPLIT_INDEX."""
        return self._call("SPLIT_INDEX", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Self:
        """Return STR_TO_MAP."""
        return self._call("STR_TO_MAP", list_delimiter, key_value_delimiter)

    def elt(self, expr: Any, *exprs: Any) -> Self:
        """Return ELT."""
        return self._call("ELT", expr, *exprs)

    def printf(self, *obj: Any) -> Self:
        """Return PRINTF."""
        return self._call("PRINTF", *obj)

    @property
    def md5(self) -> Self:
        """Return MD5."""
        return self._call("MD5")

    @property
    def sha1(self) -> Self:
        """Return SHA1."""
        return self._call("SHA1")

    @property
    def sha224(self) -> Self:
        """Return SHA224."""
        return self._call("SHA224")

    @property
    def sha256(self) -> Self:
        """Return SHA256."""
        return self._call("SHA256")

    @property
    def sha384(self) -> Self:
        """Return SHA384."""
        return self._call("SHA384")

    @property
    def sha512(self) -> Self:
        """Return SHA512."""
        return self._call("SHA512")

    def sha2(self, hash_length: Any) -> Self:
        """Return SHA2."""
        return self._call("SHA2", hash_length)

    def concat(self, other: Any) -> Self:
        """Return CONCAT."""
        return self._call("CONCAT", other)

    def split(self, delimiter: Any) -> Self:
        """Return SPLIT."""
        return self._call("SPLIT", delimiter)

    def json_quote(self) -> Self:
        """Return JSON_QUOTE."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Self:
        """Return JSON_UNQUOTE."""
        return self._call("JSON_UNQUOTE")
