"""Words of pages: what templates say of the parts of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from kernelcast.reporting.console import plain_text
from kernelcast.reporting.documents.explain import InstructionPart
from kernelcast.reporting.documents.gpu import QuantityPart
from kernelcast.reporting.documents.result import Result
from kernelcast.reporting.figures import digits
from kernelcast.reporting.kernel_names import short_name
from kernelcast.reporting.text import view
from kernelcast.reporting.text.gpu import value_words
from kernelcast.reporting.text.result import access_words, answer, sample_words
from kernelcast.reporting.text.run import beside, shape
from kernelcast.reporting.text.simulated import stall_words
from kernelcast.reporting.text.what_if import relation_words, remarks

_ANY_WIDTH = 10_000

PROFILER_NAMES: Mapping[str, tuple[str, str]] = {
    "dram bandwidth": (
        "DRAM Throughput",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "l2 bandwidth": (
        "L2 Cache Throughput",
        "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "l1 bandwidth": (
        "L1/TEX Cache Throughput",
        "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ),
    "shared-memory bandwidth": (
        "L1: Data-Stage, shared memory",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    ),
    "fp32 pipe": (
        "FMA Pipe",
        "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    ),
    "fp64 pipe": (
        "FP64 Pipe",
        "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    ),
    "int pipe": ("ALU Pipe", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"),
    "sfu pipe": ("XU Pipe", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"),
    "adu pipe": ("ADU Pipe", "sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_active"),
    "tensor pipe": (
        "Tensor Pipe",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    ),
    "lsu pipe": ("LSU Pipe", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"),
    "issue slots": ("Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_active"),
}
"""What NVIDIA's profiler calls a unit, and its metric (Nsight Compute, Kernel Profiling Guide)."""


def headline(result: Result) -> str:
    """The first line of a report: time, interval, what binds, which model says so."""
    return f"{answer(result).plain}, by the {result.model_label} model"


def first_words(document: Struct) -> str:
    """What a command answers, in one line."""
    return " ".join(plain_text(view(document, brief=True), _ANY_WIDTH).split())


def longest(results: list[Result]) -> float:
    """The most time of any, and 1 where none takes any."""
    return max((r.time_s for r in results), default=0.0) or 1.0


def sentence(text: str) -> str:
    """With a capital at the start and a stop at the end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def access_pattern(instruction: InstructionPart) -> str:
    """`4.00 sectors`, `32.0 passes`; nothing where there is no access."""
    access = instruction.access
    if access is None or access.per_request is None:
        return ""
    return f"{digits(access.per_request)} {access.unit}"


def conflicts(passes: float, ideal: float) -> str:
    """`32.0-fold`, or nothing where there are no bank conflicts."""
    ratio = passes / ideal if ideal else 1.0
    return f"{digits(ratio)}-fold" if ratio >= 1.005 else ""


def kinds(numbers: Mapping[str, QuantityPart]) -> str:
    """`90 measured, 30 stated, 7 assumed`."""
    counted = Counter(each.kind for each in numbers.values())
    return ", ".join(f"{count} {kind}" for kind, count in counted.most_common())


def extents(sizes: list[int]) -> str:
    """`128 x 128 x 1`."""
    return " x ".join(map(str, sizes))


def heat(share: float) -> str:
    """How strongly a cell is coloured, 0 to 1: roots let small shares be seen, too."""
    return f"{share**0.5:.2f}"


FILTERS = (
    headline,
    first_words,
    sentence,
    access_pattern,
    conflicts,
    extents,
    kinds,
    heat,
    access_words,
    sample_words,
    stall_words,
    value_words,
    relation_words,
    remarks,
    beside,
    shape,
    short_name,
)
"""Under the names that templates use."""
