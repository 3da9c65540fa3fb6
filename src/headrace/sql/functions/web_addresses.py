"""URLs and IPv4 addresses."""

from __future__ import annotations

import re
from urllib.parse import quote_plus, unquote_plus

from headrace.sql.functions.function import table_row
from headrace.sql.functions.kernels import python
from headrace.sql.functions.rules import NULLABLE, a_bigint, a_text, takes
from headrace.sql.types import BIGINT, STRING


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


FUNCTIONS = (
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
)
