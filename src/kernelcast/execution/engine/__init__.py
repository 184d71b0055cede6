"""The engine: kernels lowered to LLVM, a warp at a time, every access checked and logged."""

from kernelcast.execution.engine.run import EngineRun, run_engine

__all__ = ["EngineRun", "run_engine"]
