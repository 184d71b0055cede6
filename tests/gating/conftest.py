"""A forecast of a launch with known numbers, explained."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kernelcast import api
from kernelcast.reporting.documents.explain import ExplainDocument, explain_document


@pytest.fixture(scope="session")
def explained(tmp_path_factory) -> ExplainDocument:
    """The transposition of the examples, whose line 28 meets in banks 32-fold."""
    work = api.workload(Path(__file__).parents[2] / "examples/transpose.cu")
    (case,) = api.cases(work, [api.machine("h100-sxm")])
    return explain_document(api.predict(case, "volkov"))


@pytest.fixture
def within(explained) -> ExplainDocument:
    """The same, its time between 60 and 80 us."""
    result = msgspec.structs.replace(explained.result, time_s=70e-6, low_s=60e-6, high_s=80e-6)
    changed: ExplainDocument = msgspec.structs.replace(explained, result=result)
    return changed
