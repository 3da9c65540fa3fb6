"""Why the page's server refuses a request."""

from __future__ import annotations


class Refused(Exception):
    """A request is refused, with the HTTP status ``code``."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class NotFound(Refused):
    """There is no such job, vertex or metric."""

    def __init__(self, text: str) -> None:
        super().__init__(404, text)
