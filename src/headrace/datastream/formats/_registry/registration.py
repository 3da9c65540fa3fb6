"""The header of written messages, and the registration of their schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

from headrace.common.serialization import SerializationSchema
from headrace.datastream.formats._registry.client import Reference, RegistryClient, client_of
from headrace.datastream.formats._registry.registry import (
    SchemaRegistry,
    SubjectStrategy,
    header,
    registry_of,
    strategy_of,
)
from headrace.errors import PlanError


class RegisteringSchema(SerializationSchema):
    """The base of schemas whose message schema can be registered in a schema registry."""

    _registered: SchemaRegistration | None

    def for_topic(self, topic: str, is_key: bool = False) -> Self:
        """Return the same schema for this topic, if the subject depends on the topic."""
        made = copy(self)
        if self._registered is not None:
            subject = self._registered.subject.for_topic(topic, is_key)
            made._registered = replace(self._registered, subject=subject)
        return made


@dataclass
class SchemaRegistration:
    """Where and how the schema of written messages is registered.

    ``known``: their header, once it is known.
    """

    registry: SchemaRegistry
    subject: SubjectStrategy
    register: bool = True
    known: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @staticmethod
    def of(registry: Any, subject: Any, register: bool) -> SchemaRegistration | None:
        """Return the registration; None without a registry.

        Raises:
            PlanError: there is a subject but no registry.
        """
        found = registry_of(registry)
        if found is not None:
            return SchemaRegistration(found, strategy_of(subject), register)
        if subject is not None:
            raise PlanError("a subject needs a registry", hint="pass registry=…")
        return None

    def header(
        self,
        record: str,
        text: str,
        kind: str,
        references: Callable[[RegistryClient], Iterable[Reference]] | None = None,
    ) -> bytes:
        """Return the header; the first call asks the registry, in the process that writes.

        Raises:
            JobError: the registry does not answer, or refuses the schema.
            PlanError: the subject follows from the topic, and no topic is known.
        """
        if self.known is None:
            client = client_of(self.registry)
            imported = () if references is None else references(client)
            subject = self.subject.subject(record)
            self.known = header(client.identifier(subject, text, kind, self.register, imported))
        return self.known

    def __getstate__(self) -> dict[str, Any]:
        return {
            "registry": self.registry, "subject": self.subject, "register": self.register,
            "known": None,
        }  # fmt: skip
