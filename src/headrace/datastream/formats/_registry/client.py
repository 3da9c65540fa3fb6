"""Clients of schema registries: one per registry and process, with a cache."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.common._extras import optional
from headrace.datastream._outages import Outage, retry_while_down
from headrace.datastream.formats._registry.registry import SchemaRegistry
from headrace.errors import DecodeError, JobError

UNKNOWN_FOR_S = 10.0
"""How long an unknown id is cached: a topic full of them would otherwise ask for each message."""

TIMEOUT_S = 30.0
"""Timeout of one request, unless the properties set one."""

T = TypeVar("T")

_NOT_FOUND = 404
_TRY_LATER = frozenset({408, 429})
_SERVER_ERRORS = 500
_NO_REGISTRY = -1
"""The error code if the answer is not from a registry, but from a proxy, for example."""
_NO_SECRETS = frozenset(
    {
        "timeout",
        "max.retries",
        "retries.wait.ms",
        "retries.max.wait.ms",
        "cache.capacity",
        "cache.latest.ttl.sec",
        "basic.auth.credentials.source",
        "bearer.auth.credentials.source",
    }
)
_clients: dict[SchemaRegistry, RegistryClient] = {}
_making = threading.Lock()


class RegistryAway(JobError):
    """The registry does not answer for now; the same request may succeed later."""


@dataclass(frozen=True)
class Reference:
    """A schema that another one imports: its name there, and where it is registered."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class RegisteredText:
    """A schema as registered."""

    text: str
    kind: str
    references: tuple[Reference, ...] = ()


def client_of(registry: SchemaRegistry) -> RegistryClient:
    """Return this process's client for a registry."""
    with _making:
        found = _clients.get(registry)
        if found is None:
            found = _clients[registry] = RegistryClient(registry)
        return found


class RegistryClient:
    """Asks a registry, and caches the answers: ids and schemas do not change."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._package = optional("confluent_kafka.schema_registry")
        self._lock = threading.Lock()
        self._schemas: dict[int, RegisteredText] = {}
        self._unknown: dict[int, float] = {}
        self._ids: dict[tuple[Any, ...], int] = {}
        properties = registry.properties()
        self._secrets = _list_secrets(properties)
        # Retries are decided here, so the client must not retry by itself.
        settings = {"timeout": TIMEOUT_S, "max.retries": 0, **properties}
        # The client of confluent-kafka may be used by several threads.
        self._client = self._ask_with_retry(
            "connecting",
            lambda: self._package.SchemaRegistryClient({"url": registry.url, **settings}),
        )

    def schema(self, identifier: int) -> RegisteredText:
        """Return the schema with this id.

        Raises:
            DecodeError: the registry has none.
            JobError: the registry does not answer, or refuses.
        """
        with self._lock:
            found = self._schemas.get(identifier)
            if found is not None:
                return found
            if self._unknown.get(identifier, 0.0) > time.monotonic():
                raise _unknown_schema_error(identifier)
            schema = self._ask_with_retry(
                f"asking for the schema {identifier}",
                lambda: self._ask_or_none(lambda: self._client.get_schema(identifier)),
            )
            if schema is None:
                now_s = time.monotonic()
                self._unknown = {each: at for each, at in self._unknown.items() if at > now_s}
                self._unknown[identifier] = now_s + UNKNOWN_FOR_S
                raise _unknown_schema_error(identifier)
            found = self._schemas[identifier] = _text_of(schema)
            return found

    def at_version(self, subject: str, version: int) -> RegisteredText:
        """Return the schema of a subject's version.

        Raises:
            JobError: there is no such version, or the registry does not answer.
        """
        with self._lock:
            registered = self._ask_with_retry(
                f"asking for version {version} of the subject {subject!r}",
                lambda: self._client.get_version(subject, version),
            )
        return _text_of(registered.schema)

    def identifier(
        self,
        subject: str,
        text: str,
        kind: str,
        register: bool,
        references: Iterable[Reference] = (),
    ) -> int:
        """Return the id of a schema under a subject; ``register``: add it if it is missing.

        Raises:
            JobError: the schema is missing or cannot be added, or the registry does not answer.
        """
        references = tuple(references)
        key = (subject, text, kind, references)
        with self._lock:
            found = self._ids.get(key)
            if found is None:
                operation = "registering a schema" if register else "asking for a schema's id"
                schema = self._make_schema(text, kind, references)
                found = self._ids[key] = self._ask_with_retry(
                    f"{operation} under the subject {subject!r}",
                    lambda: (
                        self._client.register_schema(subject, schema)
                        if register
                        else self._looked_up(subject, schema).schema_id
                    ),
                )
            return found

    def version(self, subject: str, text: str, kind: str, references: Iterable[Reference]) -> int:
        """Return the version of a registered schema under a subject."""
        schema = self._make_schema(text, kind, tuple(references))
        with self._lock:
            found: int = self._ask_with_retry(
                f"asking for a schema's version under the subject {subject!r}",
                lambda: self._looked_up(subject, schema).version,
            )
            return found

    def _looked_up(self, subject: str, schema: Any) -> Any:
        """Return a subject's schema.

        Some registries find it in another layout only with ``normalize``.
        """
        found = self._ask_or_none(lambda: self._client.lookup_schema(subject, schema))
        if found is not None:
            return found
        return self._client.lookup_schema(subject, schema, normalize_schemas=True)

    def _make_schema(self, text: str, kind: str, references: tuple[Reference, ...]) -> Any:
        made = [
            self._package.SchemaReference(
                name=part.name, subject=part.subject, version=part.version
            )
            for part in references
        ]
        return self._package.Schema(text, kind, made)

    def _ask_with_retry(self, operation: str, ask: Callable[[], T]) -> T:
        """Return the registry's answer.

        The request is repeated while it is down, up to ``max_outage``.
        """
        outage = Outage(
            self._registry.max_outage_ms / 1000, f"schema registry {self._registry.url}"
        )
        return retry_while_down(
            lambda: self._ask_once(operation, ask),
            lambda error: isinstance(error, RegistryAway),
            outage,
        )

    def _ask_once(self, operation: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Exception as error:
            raise self._to_job_error(operation, error) from None  # its frames contain the secrets

    def _ask_or_none(self, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except self._package.error.SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND and error.error_code != _NO_REGISTRY:
                return None
            raise

    def _to_job_error(self, operation: str, error: Exception) -> JobError:
        status = getattr(error, "http_status_code", None)
        message = str(error).strip() or type(error).__name__
        for secret in self._secrets:
            message = message.replace(secret, "***")
        away = (
            _is_of_transport(error)
            if status is None
            else status in _TRY_LATER or status >= _SERVER_ERRORS
        )
        hint = "check the subject's schemas, its compatibility rule, and the right to write to it"
        if away or status is None:
            hint = "check that it runs, and that the workers can reach it"
        return (RegistryAway if away else JobError)(
            f"{operation} failed: {message}", where={"registry": self._registry.url}, hint=hint
        )


def _is_of_transport(error: Exception) -> bool:
    """Return whether no answer came. The type of the error depends on confluent-kafka's version."""
    return isinstance(error, OSError) or any(
        kind.__name__ == "TransportError" for kind in type(error).__mro__
    )


def _text_of(schema: Any) -> RegisteredText:
    references = tuple(
        Reference(part.name, part.subject, part.version) for part in schema.references or ()
    )
    return RegisteredText(schema.schema_str, (schema.schema_type or "AVRO").upper(), references)


def _unknown_schema_error(identifier: int) -> DecodeError:
    return DecodeError(f"unknown schema id {identifier}: the registry has no such schema")


def _list_secrets(properties: Mapping[str, Any]) -> list[str]:
    """Return all secrets among the properties, longest first."""
    texts = [str(value) for key, value in properties.items() if key not in _NO_SECRETS]
    # A server may echo the request's header: user and password in base64.
    encoded = [base64.b64encode(text.encode()).decode().rstrip("=") for text in texts]
    parts = {part for text in texts for part in (text, text.partition(":")[2])}
    return sorted({part for part in (*parts, *encoded) if len(part) > 2}, key=len, reverse=True)
