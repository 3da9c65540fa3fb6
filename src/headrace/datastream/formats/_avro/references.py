"""Registered Avro schemas that import others: one text with everything in it."""

from __future__ import annotations

import json
from typing import Any

from headrace.datastream.formats._registry.client import RegisteredText, RegistryClient

_WITH_NAMES = frozenset({"record", "error", "enum", "fixed"})


def whole_text(found: RegisteredText, client: RegistryClient) -> str:
    """The text of a schema; a type that it imports is defined where it is met first.

    Raises:
        JobError: the registry does not have what is imported, or does not answer.
    """
    if not found.references:
        return found.text
    imported: dict[str, Any] = {}
    _collect(found, client, imported)
    return json.dumps(_Inlining(imported).of(json.loads(found.text), ""))


def _collect(found: RegisteredText, client: RegistryClient, imported: dict[str, Any]) -> None:
    for reference in found.references:
        if reference.name not in imported:
            other = client.at_version(reference.subject, reference.version)
            imported[reference.name] = json.loads(other.text)
            _collect(other, client, imported)


class _Inlining:
    """One walk over a schema, in the order in which a parser meets its parts."""

    def __init__(self, imported: dict[str, Any]) -> None:
        self._imported = imported
        self._defined: set[str] = set()

    def of(self, node: Any, space: str) -> Any:
        """The same part with what it imports; ``space``: the namespace around it."""
        if isinstance(node, str):
            return self._name(node, space)
        if isinstance(node, list):
            return [self.of(branch, space) for branch in node]
        if node["type"] in _WITH_NAMES:
            return self._definition(node, space)
        parts = {name: self.of(node[name], space) for name in ("items", "values") if name in node}
        return {**node, "type": self.of(node["type"], space), **parts}

    def _name(self, name: str, space: str) -> Any:
        full = f"{space}.{name}" if space and "." not in name else name
        if full not in self._imported:
            return name
        if full in self._defined:
            return full
        self._defined.add(full)
        return self.of(self._imported[full], "")

    def _definition(self, node: dict[str, Any], space: str) -> dict[str, Any]:
        before, _, short = node["name"].rpartition(".")
        own = before or node.get("namespace", space)
        self._defined.add(f"{own}.{short}" if own else short)
        # Said where it stands: without one it would have the namespace of what imports it.
        named = {**node, "name": short, "namespace": own}
        if "fields" not in node:
            return named
        fields = [{**field, "type": self.of(field["type"], own)} for field in node["fields"]]
        return {**named, "fields": fields}
