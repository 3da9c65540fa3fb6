"""Python values as JSON, so that people can read them; only a user's own objects are pickled.

What JSON does not have is an object with one key: ``{"tuple": [...]}``,
``{"dict": [[k, v], ...]}``, ``{"bytes": base64}``, ``{"pickle": base64}``. No class of Headrace is
in it by name.
"""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from typing import Any

_JSON_SCALARS = frozenset({type(None), bool, int, float, str})


def to_json(value: Any) -> Any:
    """A value of JSON that ``from_json`` makes the same value of.

    What is not made of None, numbers, text, bytes, tuples, lists and dictionaries is pickled.
    """
    kind = type(value)
    if kind in _JSON_SCALARS:
        return value
    if kind is list:
        return [to_json(item) for item in value]
    if kind is tuple:
        return {"tuple": [to_json(item) for item in value]}
    if kind is dict:
        return {"dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if kind is bytes:
        return {"bytes": b64encode(value).decode()}
    return {"pickle": b64encode(pickle.dumps(value, 5)).decode()}


def from_json(value: Any) -> Any:
    """The value that ``to_json`` was given."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "tuple":
        return tuple(from_json(item) for item in content)
    if tag == "dict":
        return {from_json(key): from_json(item) for key, item in content}
    data = b64decode(content)
    return data if tag == "bytes" else pickle.loads(data)
