"""Configuration keys at PyFlink's path; they are written in ``options.option``."""

from headrace.common._options.option import ConfigOption, ConfigOptions

__all__ = ["ConfigOption", "ConfigOptions"]
