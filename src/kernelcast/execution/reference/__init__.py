"""The reference executor: PTX interpreted with NumPy, readable as the definition."""

from kernelcast.execution.reference.interpreter import check_defined, run_reference

__all__ = ["check_defined", "run_reference"]
