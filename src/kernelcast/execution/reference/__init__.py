"""The reference executor: PTX interpreted with NumPy, readable as the definition."""

from kernelcast.execution.reference.interpreter import run_reference

__all__ = ["run_reference"]
