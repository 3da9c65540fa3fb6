"""Digests, encodings, texts as collections."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence

from headrace.errors import SqlError
from headrace.sql.expressions import Expression
from headrace.sql.functions.function import Function, Signature, options_vary, table_row
from headrace.sql.functions.kernels import python
from headrace.sql.functions.patterns import java_regex
from headrace.sql.functions.rules import (
    NULLABLE,
    a_text,
    an_int,
    first_of,
    some_bytes,
    takes,
)
from headrace.sql.types import BYTES, STRING, ArrayType, CharType, MapType, VarCharType


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
        can_fail=options_vary,
    ),
    table_row(
        "DECODE",
        takes(some_bytes, a_text, gives=STRING),
        python(_decode),
        "DECODE(bytes, charset)",
        "The text of bytes in a character set.",
        ("DECODE(x'61', 'UTF-8')", "a"),
        can_fail=options_vary,
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
        can_fail=options_vary,
    ),
)
