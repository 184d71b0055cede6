"""How kernels and launches arrive: files recognised by content, kernels and workloads out."""

from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.frontends.loading import LoadedModule, kernel_names, load, load_bytes
from kernelcast.frontends.recognise import FileKind, recognise
from kernelcast.frontends.workloads import LaunchFlags, Workload, parse_workload, read_workload

__all__ = [
    "FileKind",
    "LaunchFlags",
    "LoadedModule",
    "Workload",
    "check_launch",
    "kernel_names",
    "launch_from_flags",
    "load",
    "load_bytes",
    "parse_workload",
    "read_workload",
    "recognise",
]
