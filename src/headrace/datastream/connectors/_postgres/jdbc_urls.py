"""Converts JDBC's URLs and SQL for psycopg."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote

from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.errors import PlanError, UnsupportedError

PREFIX = "jdbc:postgresql:"

_SAME = ("user", "password", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslpassword")
_RENAMED = {
    **{name: name for name in (*_SAME, "options")},
    "ApplicationName": "application_name",
    "channelBinding": "channel_binding",
    "connectTimeout": "connect_timeout",
    "gssEncMode": "gssencmode",
}
_SWITCHES = {"true": "1", "false": "0"}
_SERVERS = {
    "any": "any",
    "primary": "primary",
    "master": "primary",
    "secondary": "standby",
    "slave": "standby",
    "preferSecondary": "prefer-standby",
    "preferSlave": "prefer-standby",
}
_WITHOUT_EFFECT = frozenset(
    (
        *(
            "adaptiveFetch",
            "adaptiveFetchMaximum",
            "adaptiveFetchMinimum",
            "assumeMinServerVersion",
        ),
        *("autosave", "binaryTransfer", "binaryTransferDisable", "binaryTransferEnable"),
        *("cancelSignalTimeout", "cleanupSavepoints", "databaseMetadataCacheFields"),
        *("databaseMetadataCacheFieldsMiB", "defaultRowFetchSize", "disableColumnSanitiser"),
        *("escapeSyntaxCallMode", "groupStartupParameters", "hostRecheckSeconds"),
        *("loadBalanceHosts", "logServerErrorDetail", "logUnclosedConnections", "loggerFile"),
        *("loggerLevel", "loginTimeout", "maxResultBuffer", "maxSendBufferSize"),
        *("preferQueryMode", "prepareThreshold", "preparedStatementCacheQueries"),
        *("preparedStatementCacheSizeMiB", "protocolVersion", "quoteReturningIdentifiers"),
        *("reWriteBatchedInserts", "receiveBufferSize", "sendBufferSize", "socketTimeout"),
        *("stringtype", "tcpNoDelay", "unknownLength", "xmlFactoryFactory"),
    )
)
"""Properties of the Java driver that only concern its implementation."""

_PLACE = re.compile(r"^//(?P<hosts>[^/?]*)(?:/(?P<name>[^?]*))?$")
_HOST = re.compile(r"^(?P<host>\[[^\]]+\]|[^:\[\]]+)?(?::(?P<port>\d+))?$")


def libpq_parameters(url: str) -> dict[str, str]:
    """Return the libpq parameters of a ``jdbc:postgresql:`` URL.

    Raises:
        UnsupportedError: the URL is for another database.
        PlanError: the URL cannot be parsed, or has an unknown property.
    """
    if not url.startswith("jdbc:"):
        raise PlanError(
            f"{without_secrets(url)} is not a JDBC URL", hint="jdbc:postgresql://host:5432/database"
        )
    if not url.startswith(PREFIX):
        kind = ":".join(url.split(":", 2)[:2])
        raise UnsupportedError(
            f"JdbcSink writes to PostgreSQL, and not to {kind}",
            hint='a Spark writer does, at least once: DataFrameSink("jdbc", ...), with the driver',
        )
    place, _, query = url.removeprefix(PREFIX).partition("?")
    found = _place_of(place)
    for name, value in parse_qsl(query, keep_blank_values=True):
        _set_property(found, name, value)
    return found


def _place_of(place: str) -> dict[str, str]:
    if not place.startswith("//"):
        name = unquote(place.removeprefix("/"))
        return {"host": "localhost", **({"dbname": name} if name else {})}
    match = _PLACE.match(place)
    hosts = [_HOST.match(each) for each in match["hosts"].split(",")] if match else []
    if match is None or not all(hosts):
        raise PlanError(
            "the place in a JDBC URL cannot be read", hint="jdbc:postgresql://host:5432/database"
        )
    found = {
        "host": ",".join((each["host"] or "localhost").strip("[]") for each in hosts if each),
        "port": ",".join(each["port"] or "5432" for each in hosts if each),
    }
    if match["name"]:
        found["dbname"] = unquote(match["name"])
    return found


def _set_property(found: dict[str, str], name: str, value: str) -> None:
    if name in _RENAMED:
        found[_RENAMED[name]] = value
    elif name == "ssl":
        if value in ("", "true"):
            found.setdefault("sslmode", "verify-full")
    elif name == "tcpKeepAlive":
        found["keepalives"] = _SWITCHES.get(value, "1")
    elif name == "targetServerType" and value in _SERVERS:
        found["target_session_attrs"] = _SERVERS[value]
    elif name == "currentSchema":
        schema = value.replace("\\", "\\\\").replace(" ", "\\ ")
        found["options"] = f"{found.get('options', '')} -c search_path={schema}".strip()
    elif name not in _WITHOUT_EFFECT:
        raise PlanError(
            f"the property {name} of a JDBC URL is not known here",
            hint=f"known are {', '.join(sorted(_RENAMED))}, ssl, currentSchema, targetServerType",
        )


_TOKEN = re.compile(
    r"""(?P<text>(?<!\w)[eE]'(?:[^'\\]|\\.|'')*'
      | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/
      | (?<!\w)\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?\$(?P=tag)\$)
    | (?P<operator>\?\?) | (?P<mark>\?) | (?P<percent>%)""",
    re.VERBOSE | re.DOTALL,
)


def with_percent_marks(sql: str) -> tuple[str, int]:
    """Return a statement with ``%s`` instead of each ``?``, and the number of them.

    Those in strings, quoted names and comments are kept. ``??`` is the operator ``?``, as in the
    Java driver.
    """
    count = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal count
        if match["mark"]:
            count += 1
            return "%s"
        return "?" if match["operator"] else match[0].replace("%", "%%")

    return _TOKEN.sub(replaced, sql), count
