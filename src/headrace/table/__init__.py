"""The Table API and SQL, which are not there."""

from headrace.common._unsupported import refuse_module

refuse_module(__name__)
