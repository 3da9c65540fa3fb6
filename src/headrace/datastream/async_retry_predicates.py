"""When asynchronous functions are retried: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_ASYNC = "asynchronous functions are not part of this release"

empty_result_predicate = unsupported(f"{__name__}.empty_result_predicate", _ASYNC)
has_exception_predicate = unsupported(f"{__name__}.has_exception_predicate", _ASYNC)
exception_type_predicate = unsupported(f"{__name__}.exception_type_predicate", _ASYNC)
