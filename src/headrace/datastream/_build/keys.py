"""Key selectors, and an early check that their results can be keys."""

from __future__ import annotations

import operator
from typing import Any

from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream.functions import Function, KeySelector
from headrace.errors import UnstableKeyError
from headrace.graph.transformation import CallSite, Edge, Forward, SourceTransformation
from headrace.operators.coerce import CoerceSpec
from headrace.runtime.columns.selectors import NamedField
from headrace.runtime.user_function import UserFunction


def to_key_selector(key: Any, call: str, stream: str, site: CallSite) -> UserFunction:
    """Return the key selector for a KeySelector, a callable, or a field's position or name."""
    if isinstance(key, int) and not isinstance(key, bool):
        return UserFunction(operator.itemgetter(key))
    if isinstance(key, str):
        return UserFunction(NamedField(key))
    return to_user_function(key, KeySelector, "get_key", call, stream, site)


def check_stability(
    selector: UserFunction,
    key_type: TypeInformation | None,
    edges: tuple[Edge, ...],
    stream: str,
    site: CallSite,
) -> None:
    """Check that equal keys are always sent to the same task.

    Only the key of the first element is checked, and only if the stream is a collection.

    Raises:
        UnstableKeyError: the key has no stable hash, and cannot be serialized.
    """
    from headrace.runtime.keys.serialized_key import to_internal_key

    found, value = _first_element(edges)
    if not found or _needs_open(selector):
        return
    coerce = None if key_type is None else key_type.coercer()
    try:
        key = selector.as_callable()(value)
        key = key if coerce is None else coerce(key)
    except Exception:
        return  # the job will raise it again, with the record and the operator
    try:
        to_internal_key(key)
    except UnstableKeyError as error:
        where = {"stream": stream, "called": str(site), "record": repr(value)[:200]}
        raise UnstableKeyError(
            error.message, where={**where, **error.where}, hint=error.hint
        ) from None


def _first_element(edges: tuple[Edge, ...]) -> tuple[bool, Any]:
    """Return whether the stream is a collection, and its first element as the selector gets it."""
    from headrace.datastream.connectors._collection import CollectionSource

    coerce = None
    while len(edges) == 1 and isinstance(edges[0].partitioning, Forward) and edges[0].tag is None:
        node = edges[0].source
        if isinstance(node, SourceTransformation):
            if isinstance(node.source, CollectionSource) and node.source.values:
                value = node.source.values[0]
                return True, value if coerce is None else coerce(value)
            break
        if isinstance(node.spec, CoerceSpec) and coerce is None:
            coerce = node.spec.type_info.coercer()
        elif node.spec is None or not node.spec.traits.assigns_time:
            break
        edges = node.inputs
    return False, None


def _needs_open(selector: UserFunction) -> bool:
    target = selector.target
    return isinstance(target, Function) and type(target).open is not Function.open
