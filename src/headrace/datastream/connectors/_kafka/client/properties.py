"""Properties of a Kafka client: Java's names are translated to librdkafka's, secrets are hidden."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import ConfigurationError

HIDDEN = "***"

_SECRET = re.compile(
    r"password|passphrase|secret|token|jaas|key\.pem|keystore\.key|credential|oauthbearer\.config",
    re.I,
)

# Properties of Java's consumer or Flink's source that librdkafka does not have, or that we set.
_LEFT_OUT = re.compile(
    r"(key|value)\.deserializer(\..*)?|auto\.offset\.reset|enable\.auto\.(commit|offset\.store)"
    r"|auto\.commit\.interval\.ms|enable\.partition\.eof|max\.poll\.records|interceptor\.classes"
    r"|partition\.discovery\.interval\.ms|commit\.offsets\.on\.checkpoint|client\.id\.prefix"
    r"|register\.consumer\.metrics|config\.providers(\..*)?|flink\..*|metric(s\..*|\.reporters)"
    r"|allow\.auto\.create\.topics|exclude\.internal\.topics|send\.buffer\.bytes"
    r"|receive\.buffer\.bytes|default\.api\.timeout\.ms|request\.timeout\.ms"
    r"|ssl\.(truststore|keystore)\.type|sasl\.(login|client)\.callback.*"
)

# Only for consumers: librdkafka warns if another client gets one of them.
_OF_CONSUMERS = re.compile(
    r"(fetch|queued|group|session|heartbeat|isolation|check|max\.poll|partition\.assignment"
    r"|max\.partition|consume|offset|enable|coordinator|auto\.offset)\..*"
)

_IN_LIBRDKAFKA = {
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
}

_LOGIN = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;]+))")
_REFERENCE = re.compile(r"\$\{(env|file):([^}]*)\}")


@dataclass(frozen=True, repr=False)
class Properties:
    """Properties as the user gave them. ``repr`` hides secrets.

    A value may be a reference: ``${env:NAME}``, ``${file:/path}``. It is resolved where a client is
    made, so only the reference is sent with the job.
    """

    given: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(properties: Mapping[str, object]) -> Properties:
        """Convert a mapping to properties, with values as text.

        Raises:
            ConfigurationError: a name is no text, or a form is not readable here.
        """
        for key in properties:
            if not isinstance(key, str):
                raise ConfigurationError(f"the name of a Kafka property is a str, not {key!r:.100}")
        found = Properties(tuple((key, _format_value(value)) for key, value in properties.items()))
        found.translated()
        return found

    def get(self, key: str) -> str | None:
        """Return the value of a property exactly as given, or None if it is not set."""
        return dict(self.given).get(key)

    def translated(self) -> dict[str, str]:
        """Return the properties for librdkafka, with unresolved references.

        Raises:
            ConfigurationError: a form that only Java reads.
        """
        found: dict[str, str] = {}
        for key, value in self.given:
            if key == "sasl.jaas.config":
                found.update(_parse_jaas(value))
            elif key in ("ssl.truststore.location", "ssl.keystore.location"):
                found.update(_store(key, value))
            elif not _LEFT_OUT.fullmatch(key):
                found[_IN_LIBRDKAFKA.get(key, key)] = value
        return found

    def for_consumer(self) -> dict[str, str]:
        """Return the properties of a consumer, with resolved references.

        Raises:
            ConfigurationError: a reference leads nowhere.
        """
        return {key: resolve_references(key, value) for key, value in self.translated().items()}

    def for_admin(self) -> dict[str, str]:
        """Return the properties of an ``AdminClient``, with resolved references."""
        return {k: v for k, v in self.for_consumer().items() if not _OF_CONSUMERS.fullmatch(k)}

    def __repr__(self) -> str:
        shown = {key: HIDDEN if is_secret(key) else value for key, value in self.given}
        return f"Properties({shown})"


def is_secret(key: str) -> bool:
    """Return whether a property's value must not be shown."""
    return _SECRET.search(key) is not None


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_jaas(jaas: str) -> dict[str, str]:
    """Return the user and password of a Java JAAS line, for PLAIN and SCRAM."""
    found = {name: quoted or plain for name, quoted, plain in _LOGIN.findall(jaas)}
    if "username" not in found or "password" not in found:
        raise ConfigurationError(
            "sasl.jaas.config has no username and password: only Java can read this form",
            hint="set sasl.mechanism, sasl.username and sasl.password, as librdkafka names them",
        )
    return {"sasl.username": found["username"], "sasl.password": found["password"]}


def _store(key: str, path: str) -> dict[str, str]:
    """Return the properties of a certificate store: PEM files, or a PKCS#12 key store."""
    if path.endswith(".jks"):
        raise ConfigurationError(
            f"{key} is a Java key store, which librdkafka does not read",
            where={key: path},
            hint="export PEM files: ssl.ca.location, ssl.certificate.location, ssl.key.location",
        )
    if key == "ssl.truststore.location":
        return {"ssl.ca.location": path}
    if path.endswith((".p12", ".pfx")):
        return {"ssl.keystore.location": path}
    return {"ssl.certificate.location": path, "ssl.key.location": path}


def resolve_references(key: str, value: str) -> str:
    """Return the value with its references resolved.

    Raises:
        ConfigurationError: the target of a reference does not exist.
    """

    def found(match: re.Match[str]) -> str:
        kind, name = match.groups()
        try:
            return os.environ[name] if kind == "env" else Path(name).read_text().strip()
        except (KeyError, OSError):
            what = "environment variable" if kind == "env" else "file"
            raise ConfigurationError(
                f"the Kafka property {key} refers to a value that does not exist",
                where={what: name},
                hint="it must exist where the program runs, and on every worker",
            ) from None

    return _REFERENCE.sub(found, value)
