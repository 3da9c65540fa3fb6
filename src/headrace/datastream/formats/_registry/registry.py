"""A schema registry: its address, the subjects of schemas, and the header of a message.

The wire format is Confluent's: a byte 0, four bytes with the id of the writer's schema (most
significant first), then the record. The schema of an id never changes, so a replay decodes
as before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from headrace.common.time import TimeAmount, milliseconds_of
from headrace.errors import DecodeError, PlanError

MAGIC = b"\x00"
HEADER_BYTES = 5

_USER_INFO = "basic.auth.user.info"


class SchemaRegistry:
    """The address of a schema registry, and how to connect to it.

    ``config``: properties of confluent-kafka's client: ``basic.auth.user.info`` (user:password),
    ``ssl.ca.location``, ``bearer.auth.token``, ``timeout``, … A user and password in the address
    are removed from it and used. Secrets are never shown.

    ``config`` may also be a function without arguments that returns the properties. It is called on
    the workers, so secrets are not sent with the program.

    ``max_outage``: how long a task waits for a registry that does not answer, before the job fails.
    """

    def __init__(
        self,
        url: str,
        config: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        *,
        max_outage: TimeAmount = timedelta(minutes=2),
    ) -> None:
        self.max_outage_ms = milliseconds_of(max_outage, "max_outage", at_least=0)
        self.url, user_info = _without_user(url)
        if user_info and (callable(config) or _USER_INFO in (config or {})):
            raise PlanError("a user is in the registry's address and in its properties")
        if not callable(config):
            config = {**(config or {}), **({_USER_INFO: user_info} if user_info else {})}
            if "url" in config:
                raise PlanError("the registry's address is the first argument, not a property")
        self._config = config

    def properties(self) -> dict[str, Any]:
        """Return all client properties, including secrets."""
        return dict(self._config() if callable(self._config) else self._config)

    def _identity_key(self) -> tuple[Any, ...]:
        if callable(self._config):
            return (self.url, self.max_outage_ms, self._config)
        settings = tuple(sorted((key, str(value)) for key, value in self._config.items()))
        return (self.url, self.max_outage_ms, settings)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SchemaRegistry):
            return NotImplemented
        return self._identity_key() == other._identity_key()

    def __hash__(self) -> int:
        return hash(self._identity_key())

    def __repr__(self) -> str:
        return f"SchemaRegistry({self.url!r})"


def registry_of(registry: Any) -> SchemaRegistry | None:
    """Return a registry from one, from its address, or None."""
    if registry is None or isinstance(registry, SchemaRegistry):
        return registry
    if isinstance(registry, str):
        return SchemaRegistry(registry)
    raise PlanError(
        f"{type(registry).__name__} is no schema registry",
        hint="pass its address, or SchemaRegistry(address, properties)",
    )


def _without_user(url: str) -> tuple[str, str]:
    """Return the address (or several with commas) without the user, and that user."""
    found = [_one_without_user(address.strip()) for address in url.split(",")]
    users = {user for _, user in found if user}
    if len(users) > 1:
        raise PlanError("the addresses of one registry name different users or passwords")
    return ",".join(address for address, _ in found), next(iter(users), "")


def _one_without_user(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PlanError("a registry's address begins with http:// or https:// and has a host")
    address = parts.netloc.rpartition("@")[2]
    user = unquote(parts.netloc.rpartition("@")[0])
    return urlunsplit(parts._replace(netloc=address)).rstrip("/"), user


class SubjectStrategy(ABC):
    """Names the subject under which the schema of a topic's records is registered."""

    @abstractmethod
    def subject(self, record: str) -> str:
        """Return the subject for a record (or another named type) with this full name.

        Raises:
            PlanError: the subject depends on the topic, and no topic is known.
        """

    def for_topic(self, topic: str, is_key: bool = False) -> SubjectStrategy:
        """Return the strategy for records of this topic; a topic that is already set is kept."""
        return self


@dataclass(frozen=True)
class TopicNameStrategy(SubjectStrategy):
    """Subjects like ``orders-value`` or ``orders-key``: one schema for all records of a topic."""

    topic: str | None = None
    is_key: bool = False

    def subject(self, record: str) -> str:
        return f"{_require_topic(self.topic)}-{'key' if self.is_key else 'value'}"

    def for_topic(self, topic: str, is_key: bool = False) -> SubjectStrategy:
        return self if self.topic is not None else TopicNameStrategy(topic, is_key)


@dataclass(frozen=True)
class RecordNameStrategy(SubjectStrategy):
    """Subjects like ``com.acme.Order``: one schema for each record name, in all topics."""

    def subject(self, record: str) -> str:
        return record


@dataclass(frozen=True)
class TopicRecordNameStrategy(SubjectStrategy):
    """Subjects like ``orders-com.acme.Order``: one schema for each record name in a topic."""

    topic: str | None = None

    def subject(self, record: str) -> str:
        return f"{_require_topic(self.topic)}-{record}"

    def for_topic(self, topic: str, is_key: bool = False) -> SubjectStrategy:
        return self if self.topic is not None else replace(self, topic=topic)


@dataclass(frozen=True)
class FixedSubject(SubjectStrategy):
    """Always the given subject."""

    name: str

    def subject(self, record: str) -> str:
        return self.name


def strategy_of(subject: Any) -> SubjectStrategy:
    """Return a strategy from one, from a subject's name, or from None: by the topic's name.

    Raises:
        PlanError: the argument is another object.
    """
    if subject is None:
        return TopicNameStrategy()
    if isinstance(subject, str):
        return FixedSubject(subject)
    if isinstance(subject, SubjectStrategy):
        return subject
    raise PlanError(
        f"{subject!r:.120} is no subject",
        hint="pass a subject's name, or for example TopicNameStrategy('orders')",
    )


def _require_topic(topic: str | None) -> str:
    """Return the topic; raise PlanError if it is None."""
    if topic is None:
        raise PlanError(
            "the subject is named by the topic, and no topic is known here",
            hint="pass subject='orders-value', or TopicNameStrategy('orders')",
        )
    return topic


def schema_id(data: bytes) -> int:
    """Return the id of the writer's schema from a message's header.

    Raises:
        DecodeError: there is no such header.
    """
    if data[:1] != MAGIC:
        if not data:
            raise DecodeError("it is empty: a header with a schema's id was expected")
        raise DecodeError(f"wrong magic byte {data[0]}: a header with a schema's id begins with 0")
    if len(data) < HEADER_BYTES:
        raise DecodeError(f"it is truncated: {len(data)} bytes of a header of {HEADER_BYTES}")
    return int.from_bytes(data[1:HEADER_BYTES], "big")


def header(identifier: int) -> bytes:
    """Return the header of messages with this schema id."""
    return MAGIC + identifier.to_bytes(4, "big")
