"""The jars with which other systems read Kafka, from Maven Central, kept in the user's cache."""

from __future__ import annotations

from pathlib import Path

from headrace.dev.artifacts import install_server, read_pinned_files

LISTED = Path(__file__).with_name("jars.txt")


def jars_of(name: str) -> dict[str, str]:
    """The option ``jars`` with the paths of a contender's jars; nothing for no name.

    Raises:
        JobError: one cannot be fetched, or is not what it must be.
    """
    if not name:
        return {}
    parts = read_pinned_files(name, LISTED)
    folder = install_server(f"bench-{name}", parts=parts)
    return {"jars": ",".join(str(folder / part.file_name) for part in parts)}
