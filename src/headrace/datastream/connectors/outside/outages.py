"""Waiting for a server that has gone away: what formats need, too, at the connectors' place."""

from __future__ import annotations

from headrace.datastream._outages import Outage, until_back, until_back_async

__all__ = ["Outage", "until_back", "until_back_async"]
