"""PTX, NVIDIA's virtual ISA: a reader for versions 6.0 to 9.x."""

from kernelcast.isas.ptx.reader import PtxModule, parse_ptx, unsupported_instructions

__all__ = ["PtxModule", "parse_ptx", "unsupported_instructions"]
