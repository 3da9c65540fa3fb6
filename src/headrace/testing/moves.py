"""A neutral form on its way through bytes."""

from __future__ import annotations

from headrace.runtime.neutral.arrow import from_batches, to_batches
from headrace.runtime.neutral.form import NeutralForm
from headrace.runtime.neutral.manifest import Manifest


def written_and_read(form: NeutralForm) -> NeutralForm:
    """The form as it comes back from bytes: JSON and Arrow batches."""
    parts = {}
    for name, records in form.parts.items():
        table = name.partition("/")[0]
        parts[name] = list(from_batches(table, to_batches(table, records)))
    return NeutralForm(Manifest.from_json(form.manifest.to_json()), parts)
