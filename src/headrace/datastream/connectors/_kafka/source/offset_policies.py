"""The policies for records or topics that are gone: fail, or log it and continue."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Literal

from headrace.datastream.connectors._kafka.client.consumer import Unreachable
from headrace.datastream.connectors._kafka.source.split import Split
from headrace.errors import JobError

_log = logging.getLogger(__name__)

Policy = Literal["fail", "earliest", "latest"]

IN_SQL = " (a table of SQL: 'properties.auto.offset.reset' = 'earliest' or 'latest')"
"""The end of hints: how a table chooses its policies."""


def handle_missing_offsets(policy: Policy, name: str, offset: int, first: int, end: int) -> None:
    """Apply the policy to a split whose next offset is not between ``first`` and ``end``.

    Raises:
        JobError: the policy is to fail.
    """
    split = Split.of(name)
    what = "are no longer kept" if offset < first else "are beyond the end of the log"
    message = f"the next records of {split.topic}-{split.partition} {what}"
    where = {
        "topic": split.topic,
        "partition": str(split.partition),
        "read up to offset": str(offset),
        "there": f"{first} to {end}",
    }
    if policy == "fail":
        raise JobError(
            message,
            where=where,
            hint="on_missing_offsets('earliest') or ('latest') lets the job skip them and go on"
            + IN_SQL,
        )
    _log.warning("%s (%s); the job goes on at the %s offset", message, where, policy)


def handle_changed_topic(
    policy: Policy, name: str, what: str, offset: int, end: int | None
) -> None:
    """Apply the policy to a split whose topic was deleted or replaced.

    ``what``: what happened, for the message. ``end``: the last known end offset.

    Raises:
        JobError: the policy is to fail.
    """
    split = Split.of(name)
    if policy == "fail":
        raise JobError(
            f"the topic {split.topic!r} {what}, and the job has read records of it",
            where={
                "topic": split.topic,
                "partition": str(split.partition),
                "read up to offset": str(offset),
            },
            hint="on_changed_topic('earliest') or ('latest') lets the job go on with the new topic"
            + IN_SQL,
        )
    _log.warning(
        "%s: the topic %s; it was read up to offset %d, and its end was %s",
        *(name, what, offset, "not seen" if end is None else end),
    )


CHECK_BROKERS = "check the bootstrap servers, and that they run; then the security properties"


def unreachable(
    error: Unreachable, silent_s: float, where: Mapping[str, str] | None = None
) -> JobError:
    """Return the exception for brokers that did not answer for ``silent_s``."""
    since = {"for": f"{silent_s:.0f} s"} if silent_s else {}
    return JobError(error.message, where={**(where or {}), **since}, hint=CHECK_BROKERS)
