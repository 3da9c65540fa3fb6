"""Python values as readable JSON.

A type that JSON lacks becomes an object with one key: ``{"tuple": [...]}``,
``{"dict": [[k, v], ...]}``, ``{"bytes": base64}``. Other objects are pickled:
``{"pickle": base64}``. Classes of Headrace must not be pickled, because they may be renamed.
"""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from typing import Any

from headrace.common._storage.pickles import loads

_JSON_SCALARS = frozenset({type(None), bool, int, float, str})


def to_json(value: Any) -> Any:
    """Encode a value for ``json.dumps``; ``from_json`` is the inverse."""
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
    """Decode what ``to_json`` returned."""
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
    return data if tag == "bytes" else loads(data)


def read_pickles(value: Any) -> None:
    """Decode every pickled value in JSON, wherever it is.

    Raises:
        CheckpointError: one has more than data, where only data is allowed.
    """
    if isinstance(value, list):
        for item in value:
            read_pickles(item)
    elif isinstance(value, dict):
        for tag, content in value.items():
            if tag == "pickle" and isinstance(content, str):
                loads(b64decode(content))
            read_pickles(content)
