"""Values and results as text: equal texts are the same types, bits and order."""

from __future__ import annotations

import dataclasses
import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.common.types import Row

DIGEST_BYTES = 12


def text_of(value: Any) -> str:
    """A value with its type; of floats every bit."""
    kind = type(value)
    if kind is float:
        return value.hex() if value == value else "nan"
    if isinstance(value, np.generic):
        return f"{kind.__name__}({text_of(value.item())})"
    if kind in (tuple, list):
        return f"{kind.__name__}({', '.join(map(text_of, value))})"
    if kind is dict:
        return f"dict({', '.join(f'{text_of(k)}: {text_of(v)}' for k, v in value.items())})"
    if kind is Row:
        names = getattr(value, "_fields", None)
        return f"Row{value.get_row_kind().sign}({names}, {', '.join(map(text_of, value))})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.compare]
        inner = ", ".join(f"{name}={text_of(getattr(value, name))}" for name in names)
        return f"{kind.__name__}({inner})"
    return repr(value)


def lines_of(records: Sequence[Any], *, ordered: bool, exact: bool, last: bool) -> Iterator[str]:
    """Records as lines, key by key.

    Within a key they are in their order if ``ordered``, else sorted; only the last of each if
    ``last``. ``exact`` shows in which of several equal forms a key came.
    """
    by_key: dict[str, list[str]] = {}
    for record in records:
        key, line = record, text_of(record)
        if type(record) is tuple and len(record) == 2:
            key = record[0].item() if isinstance(record[0], np.generic) else record[0]
            key = int(key) if isinstance(key, bool) else key
            if not exact:
                line = text_of((key, record[1]))
        by_key.setdefault(text_of(key), []).append(line)
    for key in sorted(by_key):
        lines = by_key[key][-1:] if last else by_key[key]
        yield from (f"  {line}" for line in (lines if ordered else sorted(lines)))


def digest_of(text: str) -> str:
    """The first bytes of a text's SHA-256, in letters."""
    found = hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]
    return urlsafe_b64encode(found).decode()
