"""Makes the observers that show a job, as its configuration says."""

from __future__ import annotations

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.runners.observers import JobObserver
from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.terminal import TerminalDisplay, shows_live


def display_observers(configuration: Configuration, name: str) -> list[JobObserver]:
    """Return the observers that show a job, in the order in which they must be called."""
    mode = options.read(configuration, options.UI_TERMINAL)
    if mode == "off":
        return []
    record = JobRecord(name)
    return [record, TerminalDisplay(record, mode == "auto" and shows_live())]
