"""Patterns of events: Flink's CEP library in Python. Names are imported on first use.

``CEP.pattern(stream, Pattern.begin(...)...)`` looks for a pattern in a stream. A worker that
unpickles a user's function imports ``functions`` or ``conditions``, and nothing else of the API.
The names are listed in ``__init__.pyi``.
"""

from headrace._lazy_exports import stub_exports

__all__, __getattr__, __dir__ = stub_exports(__name__)
