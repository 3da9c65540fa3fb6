"""The DataStream API. Names are imported on first use.

So a worker that unpickles a user's MapFunction imports ``functions`` and nothing else of the API.
The names are listed in ``__init__.pyi``.
"""

from headrace._lazy_exports import stub_exports

__all__, __getattr__, __dir__ = stub_exports(__name__)
