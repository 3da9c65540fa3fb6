"""Clients of Redis."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlsplit

from headrace.common._extras import optional
from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.errors import PlanError

CONNECT_TIMEOUT_S = 10
ANSWER_TIMEOUT_S = 60
_SCHEMES = ("redis", "rediss", "unix")
_FORM = "redis://[[user]:password@]host:port/0, rediss:// over TLS, unix://path?db=0"


def check_url(url: object) -> str:
    """Check a Redis URL, and return it.

    Raises:
        PlanError: the argument is not a Redis URL, or its database is not a number.
    """
    if not isinstance(url, str):
        raise _not_a_url(repr(url))
    shown = without_secrets(url)
    try:
        parts = urlsplit(url)
        readable = parts.port is None or parts.port > 0
    except ValueError:  # its message may contain the password
        raise _not_a_url(shown) from None
    is_socket = parts.scheme == "unix"
    if parts.scheme not in _SCHEMES or not readable or (is_socket and not parts.path):
        raise _not_a_url(shown)
    databases = parse_qs(parts.query, keep_blank_values=True).get("db", [])
    if not is_socket and parts.path.strip("/"):
        databases.append(parts.path[1:])
    for database in databases:
        if not (database.isascii() and database.isdigit()):
            # A part of an unquoted password looks like a database.
            named = "***" if "@" in database else repr(database)
            raise PlanError(
                f"{named} is not the number of a database of Redis",
                where={"url": shown},
                hint=_FORM,
            )
    return url


def _not_a_url(shown: str) -> PlanError:
    return PlanError(f"{shown} is not a URL of Redis", hint=_FORM)


def password_of(url: str) -> str | None:
    """Return the password in a URL, if any; like the library, it also looks into the query."""
    parts = urlsplit(url)
    if parts.password:
        return unquote(parts.password)
    return dict(parse_qsl(parts.query)).get("password")


def with_password(url: str, password: str | None) -> str:
    """Return the URL with ``password`` instead of its own; None removes the password."""
    parts = urlsplit(url)
    own, _, place = parts.netloc.rpartition("@")
    user = own.partition(":")[0]
    if password is not None:
        user = f"{user}:{quote(password, safe='')}"
    query = [pair for pair in parts.query.split("&") if pair.partition("=")[0] != "password"]
    found = f"{parts.scheme}://{user}{'@' if user else ''}{place}{parts.path}"
    return f"{found}?{'&'.join(query)}" if any(query) else found


def connect(url: str, asynchronous: bool = False) -> Any:
    """Return a client that connects with its first command, and retries nothing by itself.

    Raises:
        MissingExtraError: redis is not installed.
    """
    module = optional("redis.asyncio" if asynchronous else "redis")
    retry = optional("redis.asyncio.retry" if asynchronous else "redis.retry")
    backoff = optional("redis.backoff")
    return module.Redis.from_url(
        url,
        retry=retry.Retry(backoff.NoBackoff(), 0),
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=ANSWER_TIMEOUT_S,
        socket_keepalive=True,
        client_name="headrace",
    )


def is_outage(error: Exception) -> bool:
    """Return True if Redis is unreachable, is loading its data, or has become a replica."""
    errors = optional("redis.exceptions")
    if isinstance(error, errors.AuthenticationError | errors.AuthorizationError):
        return False
    away = (
        errors.ConnectionError,
        errors.TimeoutError,
        errors.WatchError,
        errors.ReadOnlyError,
        errors.ClusterDownError,
        OSError,
    )
    return isinstance(error, away)
