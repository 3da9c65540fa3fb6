"""Checkpoints and savepoints as earlier versions wrote them: all that follow read them.

There is a folder for each version that changed what is stored. Once released, it stays as it is:

    <version>/checkpoint   a checkpoint on Spark, of ``job.py``, which broke off in a micro-batch
    <version>/out          the published and the pending files of its file sink
    <version>/watched      the list of files of a source that watches a folder
    <version>/savepoint    a savepoint with every kind of state (``state.py``)

    savepoints/<format>-<runner>   a savepoint as a user has it (``saved.py``)

``python -m tests.goldens.write`` writes the folder of this version anew. Nothing runs it by itself:
do so when a format has changed, before the version is released.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
VERSIONS = sorted(path.parent for path in HERE.glob("*/checkpoint"))
