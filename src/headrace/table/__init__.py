"""The Table API and SQL. Names are imported on first use; they are listed in ``__init__.pyi``."""

from headrace._lazy_exports import stub_exports

__all__, __getattr__, __dir__ = stub_exports(__name__)
