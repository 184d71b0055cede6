"""SASS, the machine code of NVIDIA's GPUs from Volta on: read from nvdisasm's listings."""

from kernelcast.isas.sass.instruction import SassFunction, SassInstruction
from kernelcast.isas.sass.reader import SassModule, parse_sass

__all__ = ["SassFunction", "SassInstruction", "SassModule", "parse_sass"]
