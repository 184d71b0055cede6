"""What `gpus NAME` answers: a machine with every number and its source."""

from __future__ import annotations

from msgspec import Struct

from kernelcast.machines.machine import Machine, Quantity
from kernelcast.machines.schema import ENTRIES
from kernelcast.reporting.documents.gpus import capability


class QuantityPart(Struct, frozen=True):
    """A number or a list of numbers of a machine, and where it is from."""

    value: float | list[float]
    unit: str
    kind: str
    source: str


class GpuDocument(Struct, frozen=True):
    """All that `gpus NAME --json` prints; `quantities` by path, in the order of the schema."""

    name: str
    title: str
    vendor: str
    architecture: str
    chip: str
    compute_capability: str
    file: str
    version: str
    overrides: list[str]
    quantities: dict[str, QuantityPart]


def gpu_document(machine: Machine) -> GpuDocument:
    """A machine with all its numbers."""
    known = (path for path in ENTRIES if path in machine.quantities)
    return GpuDocument(
        name=machine.name,
        title=machine.title,
        vendor=machine.vendor,
        architecture=machine.architecture,
        chip=machine.chip,
        compute_capability=capability(machine),
        file=machine.file,
        version=machine.version,
        overrides=list(machine.overrides),
        quantities={path: quantity_part(machine.quantities[path]) for path in known},
    )


def quantity_part(q: Quantity) -> QuantityPart:
    """A number in the published form."""
    value = list(q.value) if isinstance(q.value, tuple) else q.value
    return QuantityPart(value, q.unit, q.kind.value, q.source)
