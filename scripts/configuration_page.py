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

A job is configured by keys. Flink's keys keep their names where they mean something here; those
that begin with `headrace.` are our own.

```python
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment

configuration = Configuration()
configuration.set_string("pipeline.name", "clicks")
configuration.set_string("execution.checkpointing.dir", "/var/lib/clicks")
env = StreamExecutionEnvironment.get_execution_environment(configuration)
```

A key that is not known is an error when it is set, and so is a value that does not parse; the error
names the nearest keys. Durations are written `200 ms`, `5 s`, `1 min` (a bare number is in
milliseconds), sizes `16 kb`, `64 mb` (a bare number is in bytes), maps `a:1,b:2`.
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
        f"`{options.SPARK_CONF_PREFIX}*`: the rest of the key is set in the Spark session, where"
        " Headrace makes one. A session that is active already is used as it is.",
        "## Metric reporters",
        "Flink's keys: each has the reporter's name in the place of `<name>`"
        " ([how to report metrics](how-to/metrics.md)).",
        _table({o.key: o for o in metric_reporters.REPORTER_OPTIONS.values()}.values()),
        "## Accepted, without effect",
        "A program that sets these runs, and what was set can be read back.",
        _reasons([*kept, *WITHOUT_EFFECT]),
        "Whole families are accepted too, with any value:",
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
        if prefix != options.SPARK_CONF_PREFIX:
            yield f"| `{prefix}*` | {text.removeprefix('No effect: ').rstrip('.')} |"


def main(arguments: list[str]) -> int:
    """Write or check the page."""
    return write_or_check("configuration_page.py", {PAGE: page()}, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
