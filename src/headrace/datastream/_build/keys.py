"""Key selectors, and early checks that their keys hash alike in every interpreter."""

from __future__ import annotations

import operator
import types
import typing
from contextlib import suppress
from enum import Enum
from typing import Any

from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    TypeInformation,
)
from headrace.common.types import Row
from headrace.datastream.functions import Function, KeySelector
from headrace.datastream._build.user_functions import user_function
from headrace.errors import UnstableKeyError
from headrace.graph.transformation import CallSite, Edge, Forward, SourceTransformation
from headrace.operators.coerce import CoerceSpec
from headrace.runtime.columns.selectors import NamedField
from headrace.runtime.user_function import UserFunction

_HINT = (
    "use str, numbers, bytes, dates, enums, a tuple or Row of these,"
    " or a dataclass declared with frozen=True"
)
_UNSTABLE_TYPE_INFOS = (ListTypeInfo, MapTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)
_UNSTABLE_TYPES = (list, dict, set, bytearray, object)


def key_function(given: Any, call: str, stream: str, site: CallSite) -> UserFunction:
    """The selector for a KeySelector, a callable, or a field's position or name."""
    if isinstance(given, int) and not isinstance(given, bool):
        return UserFunction(operator.itemgetter(given))
    if isinstance(given, str):
        return UserFunction(NamedField(given))
    return user_function(given, KeySelector, "get_key", call, stream, site)


def check_stability(
    selector: UserFunction,
    key_type: TypeInformation | None,
    edges: tuple[Edge, ...],
    stream: str,
    site: CallSite,
) -> None:
    """Raise where a key is known not to hash alike in every interpreter.

    Known are the declared key type, the selector's return annotation, and, where the stream comes
    straight from a collection, the key of its first element.

    Raises:
        UnstableKeyError: the key would scatter.
    """
    where = {"stream": stream, "called": str(site)}
    if isinstance(key_type, _UNSTABLE_TYPE_INFOS):
        raise UnstableKeyError(f"{key_type} cannot be the type of a key", where=where, hint=_HINT)
    annotated = _annotated_type(selector)
    if annotated is not None and _is_unstable(annotated):
        name = getattr(annotated, "__qualname__", repr(annotated))
        raise UnstableKeyError(
            f"the key selector {selector.name!r} is annotated to return {name},"
            " which has no hash that is equal in every interpreter",
            where=where,
            hint=_HINT,
        )
    _check_first_key(selector, edges, where)


def _annotated_type(selector: UserFunction) -> Any | None:
    function = selector.bound()
    # annotations may name what only a type checker can see; then nothing is known
    with suppress(Exception):
        return typing.get_type_hints(function).get("return")
    return None


def _is_unstable(hint: Any) -> bool:
    kind = typing.get_origin(hint) or hint
    if kind in (typing.Union, types.UnionType):
        return any(_is_unstable(member) for member in typing.get_args(hint))
    if kind in _UNSTABLE_TYPES:
        return True
    return (
        isinstance(kind, type)
        and kind not in (type(None), Any)
        and not issubclass(kind, Enum)
        and kind.__hash__ in (object.__hash__, None)
    )


def _check_first_key(
    selector: UserFunction, edges: tuple[Edge, ...], where: dict[str, str]
) -> None:
    from headrace.runtime.key_groups import stable_hash

    found, value = _first_element(edges)
    if not found or _needs_open(selector):
        return
    try:
        key = selector.bound()(value)
    except Exception:
        return  # the job will raise it again, with the record and the operator noted
    try:
        stable_hash(key)
    except UnstableKeyError as error:
        raise UnstableKeyError(
            error.message,
            where={**where, "record": repr(value)[:200], **error.where},
            hint=error.hint,
        ) from None


def _first_element(edges: tuple[Edge, ...]) -> tuple[bool, Any]:
    """Whether the stream is a collection, and its first element as the selector would see it."""
    from headrace.datastream.connectors.collection import CollectionSource

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
