"""Files for CI systems against the schemas that their formats are published with.

The schemas are others' files, which are not kept here: `sarif-2.1.0.json` of OASIS (also at
json.schemastore.org) and Jenkins' `junit-10.xsd` (in the repositories of its xunit plugin and of
pytest). Where the environment's KERNELCAST_SCHEMAS names a folder that holds them, they are used;
`scripts/schemas` fetches them.
"""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from tests.gating.documents import documents

from kernelcast.reporting.ci.junit import junit
from kernelcast.reporting.ci.sarif import sarif

_SCHEMAS = Path(os.environ.get("KERNELCAST_SCHEMAS", ""))


def _schema(name: str) -> Path:
    path = _SCHEMAS / name
    if not path.is_file():
        pytest.skip(f"no {name}; set KERNELCAST_SCHEMAS to what scripts/schemas prints")
    return path


@pytest.fixture(scope="module")
def sarif_schema():
    schema = json.loads(_schema("sarif-2.1.0.json").read_text())
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.fixture(scope="module")
def junit_schema():
    xmlschema = pytest.importorskip("xmlschema", reason="needs the extra dev")
    return xmlschema.XMLSchema(_schema("junit-10.xsd"))


@given(document=documents())
def test_sarif_is_what_its_schema_says(sarif_schema, document):
    sarif_schema.validate(json.loads(sarif(document)))


@given(document=documents())
def test_junit_is_what_its_schema_says(junit_schema, document):
    junit_schema.validate(BytesIO(junit(document)))
