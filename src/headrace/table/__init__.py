"""The Table API and SQL: not supported."""

from headrace.common._unsupported import refuse_module

refuse_module(__name__)
