"""Digests, encodings, URLs, formatted texts, texts as collections."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from headrace.errors import SqlError
from headrace.sql.expressions import Expression
from headrace.sql.functions.function import Function, Signature, table_row
from headrace.sql.functions.kernels import python
from headrace.sql.functions.patterns import java_regex
from headrace.sql.functions.rules import (
    NULLABLE,
    a_bigint,
    a_text,
    an_int,
    anything,
    first_of,
    some_bytes,
    takes,
)
from headrace.sql.functions.text_formats import EXACT, java_double
from headrace.sql.types import BIGINT, BYTES, STRING, ArrayType, CharType, MapType, VarCharType


def _bytes_of(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _digest(name: str) -> Callable[[str | bytes], str]:
    def digest(value: str | bytes) -> str:
        return hashlib.new(name, _bytes_of(value), usedforsecurity=False).hexdigest()

    return digest


def _sha2(value: str | bytes, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if name is None else _digest(name)(value)


_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16",
}


def _charset(name: str) -> str:
    found = _CHARSETS.get(name.upper())
    if found is None:
        raise SqlError(f"the character set {name!r} is none of {', '.join(_CHARSETS)}")
    return found


def _encode(text: str, charset: str) -> bytes:
    codec = _charset(charset)
    if codec == "utf-16":
        return b"\xfe\xff" + text.encode("utf-16-be") if text else b""
    return text.encode(codec, "replace")


def _decode(value: bytes, charset: str) -> str:
    codec = _charset(charset)
    if codec == "utf-16" and not value.startswith((b"\xff\xfe", b"\xfe\xff")):
        codec = "utf-16-be"
    return value.decode(codec, "replace")


def _to_base64(value: str | bytes) -> str:
    return base64.b64encode(_bytes_of(value)).decode()


def _from_base64(value: str | bytes) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise SqlError(f"{value!r} is not a text in base 64") from None


def _url_encode(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


def _url_decode(text: str) -> str | None:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return None
    return unquote_plus(text, errors="replace")


_URL = re.compile(
    r"(?P<PROTOCOL>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<AUTHORITY>[^/?#]*))?"
    r"(?P<FILE>(?P<PATH>[^?#]*)(?:\?(?P<QUERY>[^#]*))?)(?:#(?P<REF>.*))?",
    re.DOTALL,
)


def _parse_url(url: str, part: str, key: str | None = None) -> str | None:
    found = _URL.fullmatch(url)
    if found is None or (key is not None and part != "QUERY"):
        return None
    user, _, address = (found["AUTHORITY"] or "").rpartition("@")
    match part:
        case "HOST":
            return re.sub(r":\d*$", "", address) or None
        case "USERINFO":
            return user or None
        case "PROTOCOL" | "AUTHORITY" | "FILE" | "PATH" | "REF":
            return found[part]
        case "QUERY" if key is None:
            return found[part]
        case "QUERY":
            pairs = re.search(rf"(?:^|&){re.escape(key or '')}=([^&]*)", found["QUERY"] or "")
            return None if pairs is None else pairs[1]
    return None


_FORMAT = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def _printf(pattern: str | None, *values: Any) -> str | None:
    """Return a text as Java's String.format makes it; None: the values do not fit the format."""
    if pattern is None:
        return None
    position = 0

    def part(match: re.Match[str]) -> str:
        nonlocal position
        index, flags, width, precision, letter = match.groups()
        if letter in "n%":
            return "\n" if letter == "n" else "%".rjust(int(width or 0))
        if index is None:
            place, position = position, position + 1
        else:
            place = int(index) - 1
        if place >= len(values):
            raise ValueError(f"there is no value for {match[0]!r}")
        return _formatted(values[place], flags, int(width or 0), precision, letter)

    try:
        return _FORMAT.sub(part, pattern)
    except (ValueError, TypeError):
        return None


def _formatted(value: Any, flags: str, width: int, precision: str | None, letter: str) -> str:
    if value is None:
        return _padded("null"[: int(precision)] if precision else "null", flags, width)
    match letter:
        case "d" | "x" | "X" | "o" if isinstance(value, bool | float | Decimal):
            raise ValueError(f"%{letter} needs an integer")
        case "f" | "e" if not isinstance(value, float):
            raise ValueError(f"%{letter} needs a DOUBLE")
        case "d":
            text = format(value, ",d" if "," in flags else "d")
        case "x" | "X" | "o":
            bits = 32 if -(1 << 31) <= value < 1 << 31 else 64
            text = format(value % (1 << bits), letter)
        case "f" | "e" if not math.isfinite(value):
            text = java_double(value)
        case "f":
            rounded = _half_up(value, int(precision or 6))
            text = format(rounded, ",f" if "," in flags else "f")
        case "e":
            text = format(value, f".{precision or 6}e")
        case "b":
            text = str(value).lower() if isinstance(value, bool) else "true"
        case "c":
            text = chr(value) if isinstance(value, int) else str(value)
        case "s" | "S":
            text = java_double(value) if isinstance(value, float) else str(value)
            if isinstance(value, bool):
                text = text.lower()
            text = text[: int(precision)] if precision else text
            text = text.upper() if letter == "S" else text
        case _:
            raise SqlError(f"PRINTF does not support %{letter}")
    numeric = letter in "dfe"
    if numeric and "+" in flags and not text.startswith("-"):
        text = "+" + text
    if numeric and "(" in flags and text.startswith("-"):
        text = f"({text[1:]})"
    if "0" in flags and letter in "dfexXo":
        return text.zfill(width)
    return _padded(text, flags, width)


def _half_up(value: float, digits: int) -> Decimal:
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, EXACT)


def _padded(text: str, flags: str, width: int) -> str:
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _split(text: str | None, separator: str | None) -> list[str] | None:
    if text is None or separator is None:
        return None
    if not text:
        return []
    return text.split(separator) if separator else list(text)


def _str_to_map(text: str, pairs: str = ",", keys: str = "=") -> list[tuple[str, str | None]]:
    if not text:
        return []
    between, inside = java_regex(pairs), java_regex(keys)
    if between is None or inside is None:
        raise SqlError(
            f"a delimiter of STR_TO_MAP is not a regular expression: {pairs!r}, {keys!r}"
        )
    found: dict[str, str | None] = {}
    for each in between.split(text):
        key, *value = inside.split(each, maxsplit=1)
        found[key] = value[0] if value else None
    return list(found.items())


def _text_or_bytes(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    return takes(a_text, gives=STRING)(arguments, options) or takes(some_bytes, gives=STRING)(
        arguments, options
    )


def _inet_aton(text: str) -> int | None:
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch("[0-9]{1,10}", each) for each in parts):
        return None
    *first, last = map(int, parts)
    if any(each > 255 for each in (*first, last)):
        return None
    number = 0
    for each in first:
        number = number << 8 | each
    return number << 8 * (4 - len(first)) | last


def _inet_ntoa(number: int) -> str | None:
    if not 0 <= number < 1 << 32:
        return None
    return ".".join(str(number >> bits & 255) for bits in (24, 16, 8, 0))


_TEXT_MAP = MapType(STRING, STRING)


def _hash(name: str, digits: int, example: str) -> Function:
    return table_row(
        name,
        first_of(takes(a_text, gives=CharType(digits)), takes(some_bytes, gives=CharType(digits))),
        python(_digest(name.lower())),
        f"{name}(string or bytes)",
        f"The {name} digest of the text, in UTF-8, or of bytes, as {digits} hexadecimal digits.",
        (f"{name}('a')", example),
    )


FUNCTIONS = (
    _hash("MD5", 32, "0cc175b9c0f1b6a831c399e269772661"),
    _hash("SHA1", 40, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
    _hash("SHA224", 56, "abd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5"),
    _hash("SHA256", 64, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
    _hash(
        "SHA384",
        96,
        "54a59b9f22b0b80880d8427e548b7c23abd873486e1f035dce9cd697e8517503"
        "3caa88e6d57bc35efae0b5afd3145f31",
    ),
    _hash(
        "SHA512",
        128,
        "1f40fc92da241694750979ee6cf582f2d5d7d28e18335de05abc54d0560e0f53"
        "02860c652bf08d560252aa5e74210546f369fbbbce8c12cfc7957b2652fe9a75",
    ),
    table_row(
        "SHA2",
        first_of(
            takes(a_text, an_int, gives=VarCharType(128)),
            takes(some_bytes, an_int, gives=VarCharType(128)),
        ),
        python(_sha2),
        "SHA2(string or bytes, bits)",
        "The SHA-2 digest with 224, 256, 384 or 512 bits, in hexadecimal digits.",
        (
            "SHA2('a', 256)",
            "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        ),
    ),
    table_row(
        "ENCODE",
        takes(a_text, a_text, gives=BYTES),
        python(_encode),
        "ENCODE(string, charset)",
        "The bytes of the text in a character set.",
        ("ENCODE('a', 'UTF-8')", "61"),
    ),
    table_row(
        "DECODE",
        takes(some_bytes, a_text, gives=STRING),
        python(_decode),
        "DECODE(bytes, charset)",
        "The text of bytes in a character set.",
        ("DECODE(x'61', 'UTF-8')", "a"),
    ),
    table_row(
        "TO_BASE64",
        _text_or_bytes,
        python(_to_base64),
        "TO_BASE64(string)",
        "The text, in UTF-8, in base 64.",
        ("TO_BASE64('hello')", "aGVsbG8="),
    ),
    Function(
        "FROM_BASE64",
        _text_or_bytes,
        python(_from_base64),
        ("FROM_BASE64(string)", "FROM_BASE64(bytes)"),
        "The text, in UTF-8, of base 64.",
        (("FROM_BASE64('aGVsbG8=')", "hello"),),
        can_fail=True,
    ),
    table_row(
        "URL_ENCODE",
        takes(a_text, gives=STRING, nulls=NULLABLE),
        python(_url_encode),
        "URL_ENCODE(string)",
        "The text as a part of a URL.",
        ("URL_ENCODE('a b')", "a+b"),
    ),
    table_row(
        "URL_DECODE",
        takes(a_text, gives=STRING, nulls=NULLABLE),
        python(_url_decode),
        "URL_DECODE(string)",
        "The decoded text of a part of a URL; NULL if it is not valid.",
        ("URL_DECODE('a+b')", "a b"),
    ),
    table_row(
        "PARSE_URL",
        takes(a_text, a_text, a_text, gives=STRING, nulls=NULLABLE, optional=1),
        python(_parse_url),
        "PARSE_URL(url, part [, key])",
        "A part of a URL: HOST, PATH, QUERY (or its value of a key), REF, PROTOCOL, FILE, "
        "AUTHORITY or USERINFO.",
        ("PARSE_URL('http://a.org/p?k=v', 'QUERY', 'k')", "v"),
    ),
    table_row(
        "INET_ATON",
        takes(a_text, gives=BIGINT, nulls=NULLABLE),
        python(_inet_aton),
        "INET_ATON(string)",
        "The number of an IPv4 address; NULL if the text is not one.",
        ("INET_ATON('127.0.0.1')", "2130706433"),
    ),
    table_row(
        "INET_NTOA",
        takes(a_bigint, gives=STRING, nulls=NULLABLE),
        python(_inet_ntoa),
        "INET_NTOA(number)",
        "The IPv4 address of a number; NULL if it has none.",
        ("INET_NTOA(2130706433)", "127.0.0.1"),
    ),
    Function(
        "PRINTF",
        takes(a_text, anything, gives=STRING, nulls=NULLABLE, optional=1, repeated=True),
        python(_printf, nulls=True),
        ("PRINTF(format, value1, ...)",),
        "The values in a format of Java's String.format.",
        (("PRINTF('%s is %d', 'a', 1)", "a is 1"),),
        can_fail=True,
    ),
    table_row(
        "SPLIT",
        takes(a_text, a_text, gives=ArrayType(STRING)),
        python(_split),
        "SPLIT(string, separator)",
        "The parts of the text, as an array.",
        ("SPLIT('a,b', ',')", '["a", "b"]'),
    ),
    table_row(
        "STR_TO_MAP",
        takes(a_text, a_text, a_text, gives=_TEXT_MAP, nulls=NULLABLE, optional=2),
        python(_str_to_map),
        "STR_TO_MAP(string [, pair_delimiter, key_delimiter])",
        "The map in a text such as a=1,b=2; the delimiters are regular expressions.",
        ("STR_TO_MAP('a=1,b=2')", '[["a", "1"], ["b", "2"]]'),
    ),
)
