"""``ConfigOption`` and ``ConfigOptions`` at PyFlink's path."""

from headrace.common._options.option import ConfigOption, ConfigOptions

__all__ = ["ConfigOption", "ConfigOptions"]
