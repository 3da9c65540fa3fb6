"""Writes docs/configuration.md: every key that a configuration may hold.

    python scripts/configuration_page.py           write the page
    python scripts/configuration_page.py --check   say whether it is up to date; exits 1 if not

The keys come from headrace.common._options.catalogue; the page says nothing that is not there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.common._options import catalogue as options
from headrace.common._options import metric_reporters
from headrace.common._options.values import ValueKind, text_of
from headrace.common._options.without_effect import WITHOUT_EFFECT
from headrace.common.config_options import ConfigOption

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts.generated import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "configuration.md"

_INTRODUCTION = """\
# Configuration

<!-- Written by scripts/configuration_page.py from the catalogue of options; do not edit. -->

A job is configured by keys. Flink's keys have the same names as in Flink. Keys that begin with
`headrace.` exist only in Headrace.

```python
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment

configuration = Configuration()
configuration.set_string("pipeline.name", "clicks")
configuration.set_string("execution.checkpointing.dir", "/var/lib/clicks")
env = StreamExecutionEnvironment.get_execution_environment(configuration)
```

An unknown key raises an error when it is set; the error names similar keys. A value that cannot be
parsed raises an error too. Write durations as `200 ms`, `5 s` or `1 min` (a number without unit is
in milliseconds), sizes as `16 kb` or `64 mb` (a number without unit is in bytes), and maps as
`a:1,b:2`.
"""


def page() -> str:
    """The page."""
    known = {option.key: option for option in options.OPTIONS.values()}.values()
    with_effect = [o for o in known if o.has_effect]
    without = {o.key for o in WITHOUT_EFFECT}
    kept = [o for o in known if not o.has_effect and o.key not in without]
    parts = [
        _INTRODUCTION,
        "## Keys",
        _table(o for o in with_effect if not o.key.startswith("headrace.")),
        "## Headrace's own keys",
        _table(o for o in with_effect if o.key.startswith("headrace.")),
        f"`{options.SPARK_CONF_PREFIX}*`: the rest of the key is set in the Spark session, unless"
        " the session is active already. An active session keeps its settings.",
        f"`{options.LOG_LEVEL_PREFIX}*`: the rest of the key is the name of a logger, which gets"
        " this level.",
        "## Metric reporters",
        "These are Flink's keys. Replace `<name>` by the name of your reporter"
        " ([how to report metrics](how-to/metrics.md)).",
        _table({o.key: o for o in metric_reporters.REPORTER_OPTIONS.values()}.values()),
        "## Accepted, without effect",
        "A program may set these keys, and read them back. They have no effect.",
        _reasons([*kept, *WITHOUT_EFFECT]),
        "All keys with these beginnings are accepted too, with any value:",
        _families(),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _table(found: Iterable[ConfigOption[Any]]) -> str:
    lines = ["| key | type | default | what it does |", "|---|---|---|---|"]
    for option in sorted(found, key=lambda one: one.key):
        names = "<br>".join(f"`{key}`" for key in (option.key, *option.fallback_keys))
        lines.append(f"| {names} | {_kind(option)} | {_default(option)} | {option.description} |")
    return "\n".join(lines)


def _kind(option: ConfigOption[Any]) -> str:
    if option.kind is ValueKind.CHOICE:
        return " ".join(f"`{choice}`" for choice in option.choices)
    return str(option.kind.value)


def _default(option: ConfigOption[Any]) -> str:
    value = option.default
    if value in (None, "", [], {}):
        return ""
    if option.kind is ValueKind.DURATION:
        return f"{value} ms"
    if option.kind is ValueKind.MEMORY:
        return f"{value} bytes"
    text = text_of(value)
    return f"`{text}`" if any(char in text for char in "<*") else text


def _reasons(found: Iterable[ConfigOption[Any]]) -> str:
    """The keys, gathered by why they have no effect."""
    by_reason: dict[str, list[str]] = {}
    for option in found:
        reason = option.description.removeprefix("No effect: ").removeprefix("Kept: ")
        by_reason.setdefault(reason.rstrip("."), []).append(option.key)
    lines = ["| why | keys |", "|---|---|"]
    for reason, keys in by_reason.items():
        lines.append(f"| {reason} | {', '.join(f'`{key}`' for key in keys)} |")
    return "\n".join(lines)


def _families() -> str:
    return "\n".join(["| keys | why |", "|---|---|", *_family_rows()])


def _family_rows() -> Iterator[str]:
    for prefix, text in options.PREFIXES.items():
        if prefix not in (options.SPARK_CONF_PREFIX, options.LOG_LEVEL_PREFIX):
            yield f"| `{prefix}*` | {text.removeprefix('No effect: ').rstrip('.')} |"


def main(arguments: list[str]) -> int:
    """Write or check the page."""
    return write_or_check("configuration_page.py", {PAGE: page()}, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
