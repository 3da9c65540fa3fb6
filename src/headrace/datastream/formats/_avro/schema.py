"""``AvroSchema``: from JSON text, a file, a dataclass, or a schema registry."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.common._storage.local_files import local_path
from headrace.datastream.formats._avro.classes import schema_of_class
from headrace.datastream.formats._avro.nodes import (
    NAMED,
    Node,
    Walker,
    invalid_schema_error,
    kind_of,
    parse_into,
    parsed,
)
from headrace.datastream.formats._class_hints import default_of
from headrace.datastream.formats._registry.client import (
    RegisteredText,
    RegistryClient,
    client_of,
)
from headrace.datastream.formats._registry.registry import SchemaRegistry, registry_of
from headrace.errors import PlanError


@dataclass(frozen=True)
class AvroSchema:
    """An Avro schema, as JSON text.

    Two schemas are equal when their JSON is equal, regardless of whitespace and the order of keys.
    """

    text: str

    def __init__(self, text: str | Mapping[str, Any] | list[Any]) -> None:
        object.__setattr__(self, "text", _normalize_schema(text))
        parsed(self.text)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Return the schema in a JSON text.

        Raises:
            PlanError: the text is not a valid schema.
        """
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Return the schema in a JSON file.

        Raises:
            PlanError: the file does not contain a valid schema.
        """
        with open(local_path(file_path), encoding="utf-8") as file:
            return AvroSchema(file.read())

    @staticmethod
    def of_dataclass(record_class: type, namespace: str = "") -> AvroSchema:
        """Return the schema of a dataclass (see ``docs/how-to/formats.md`` for the types)."""
        return AvroSchema(schema_of_class(record_class, namespace))

    @staticmethod
    def registered(registry: SchemaRegistry | str, subject: str, version: int) -> AvroSchema:
        """Return the schema that a registry has for a subject and a version; it is requested now.

        The schema of a version never changes. The latest version may change before the program is
        started again; a repeated micro-batch would then be decoded with another schema. So the
        version must be a number.

        Raises:
            PlanError: the version is not a number, or the schema is not an Avro schema.
            JobError: the registry has no such version, or does not answer.
        """
        place, given = registry_of(registry), version
        if place is None or type(given) is not int or given < 1:
            raise PlanError(
                f"the version {given!r} of the subject {subject!r} is not a number from 1",
                hint="give a number: the latest version may change while the job is stopped, and "
                "then its last micro-batch would be decoded with another schema",
            )
        client = client_of(place)
        found = client.at_version(subject, given)
        if found.kind != "AVRO":
            raise PlanError(f"version {given} of the subject {subject!r} is {found.kind}, not Avro")
        return AvroSchema(inline_imports(found, client))

    @property
    def name(self) -> str:
        """The full name of the record; for other schemas, the name of the type."""
        node = parsed(self.text)[0]
        return str(node["name"] if isinstance(node, dict) and "name" in node else kind_of(node))

    def __str__(self) -> str:
        return self.text


def schema_of(schema: Any) -> AvroSchema:
    """Return an ``AvroSchema`` from one, from its text, its JSON as a dict, or a dataclass.

    Raises:
        PlanError: the argument is another object.
    """
    if isinstance(schema, AvroSchema):
        return schema
    if isinstance(schema, type):
        return AvroSchema.of_dataclass(schema)
    if isinstance(schema, str | Mapping | list):
        return AvroSchema(schema)
    raise PlanError(
        f"{schema!r:.120} is no Avro schema",
        hint="pass AvroSchema.parse_string(…), AvroSchema.parse_file(…) or a dataclass",
    )


def check_class(into: Any, schema: AvroSchema) -> None:
    """Check that a schema has all fields that a dataclass requires.

    Raises:
        PlanError: the schema lacks a field that has no default in the class.
    """
    node = parsed(schema.text)[0]
    if not isinstance(into, type) or not dataclasses.is_dataclass(into):
        return
    if not isinstance(node, dict) or "fields" not in node:
        return
    there = {field["name"] for field in node["fields"]}
    for field in dataclasses.fields(into):
        required = field.init and default_of(field) is dataclasses.MISSING
        if required and field.name not in there:
            raise PlanError(
                f"{into.__name__} needs {field.name!r}, which {schema.name} does not have",
                hint="give the field a default, or add it to the schema",
            )


def _normalize_schema(text: Any) -> str:
    try:
        node = json.loads(text) if isinstance(text, str) else text
    except ValueError as error:
        # A bare name is a schema, too; as JSON it would need quotes.
        if isinstance(text, str) and text.isidentifier():
            node = text
        else:
            raise invalid_schema_error(str(text), error) from error
    return json.dumps(node, separators=(",", ":"), ensure_ascii=False)


def inline_imports(found: RegisteredText, client: RegistryClient) -> str:
    """Return a registered schema's text, with imported types defined where they are first used.

    Raises:
        PlanError: the schema, or an imported one, is not an Avro schema.
        JobError: the registry does not have an imported schema, or does not answer.
    """
    if not found.references:
        return found.text
    named: dict[str, Node] = {}
    _import(found, client, named, set())
    return json.dumps(_Definitions(named).visit(parse_into(found.text, named)))


def _import(
    found: RegisteredText, client: RegistryClient, named: dict[str, Node], known: set[str]
) -> None:
    for reference in found.references:
        if reference.name not in known:
            known.add(reference.name)
            other = client.at_version(reference.subject, reference.version)
            _import(other, client, named, known)
            parse_into(other.text, named)


class _Definitions(Walker[Node]):
    """A schema in which each named type is defined where it is used first."""

    def __init__(self, named: Mapping[str, Node]) -> None:
        super().__init__(named)
        self._defined: set[str] = set()

    def union(self, node: list[Node]) -> Node:
        return [self.visit(branch) for branch in node]

    def record(self, node: Node) -> Node:
        def expand(record: Node) -> Node:
            fields = [{**field, "type": self.visit(field["type"])} for field in record["fields"]]
            return {**record, "fields": fields}

        return self._define_once(node["name"], expand)

    def array(self, node: Node) -> Node:
        return {**node, "items": self.visit(node["items"])}

    def map(self, node: Node) -> Node:
        return {**node, "values": self.visit(node["values"])}

    def scalar(self, node: Node, kind: str) -> Node:
        return self._define_once(node["name"], lambda named: named) if kind in NAMED else node

    def _define_once(self, name: str, expand: Callable[[Node], Node]) -> Node:
        if name in self._defined:
            return name
        self._defined.add(name)
        return expand(self._named[name])  # without the entries that fastavro adds to a schema
