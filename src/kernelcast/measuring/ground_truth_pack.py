"""The part of the pack that times the kernels with known results: code, table, values.

The table (`table.json`) names for every kernel its configurations: the symbol in the code, a small
launch with what it must leave behind, and the full launch to be timed. `states.bin` holds states
of the random number generator, `expected.bin` expected values; the table points into both.
"""

from __future__ import annotations

import array
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import CompileError
from kernelcast.execution.arguments import match_arguments
from kernelcast.execution.fills import ELEMENT_TYPES
from kernelcast.execution.scalars import pack_scalar
from kernelcast.frontends import check_launch
from kernelcast.frontends.cuda import CompiledSource, compile_source
from kernelcast.ir import Array, Launch
from kernelcast.measuring.harness.ground_truth import TYPE_CODES, exact_bytes
from kernelcast.measuring.harness.ground_truth_arrays import FOLDER, SUPPORT
from kernelcast.measuring.starts import start_of
from kernelcast.suite.expected import ExpectedResult, expected_result
from kernelcast.suite.registry import families
from kernelcast.suite.table import (
    NVIDIA_HEADERS,
    Scale,
    SuiteKernel,
    argument_text,
)
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import CompileOptions

SUPPORT_FILE = Path(__file__).with_name(f"{SUPPORT}.cu")
_OPTIONS = CompileOptions(line_info=False)
_SINGLE_ENOUGH = 1e-6
"""Relative tolerance from which on expected values may be rounded to f32, which is off by 6e-8."""


@dataclass(frozen=True)
class GroundTruthPart:
    """Files of the pack by path, and the kernels that could not be compiled here."""

    contents: Mapping[str, bytes]
    left_out: tuple[str, ...]


def ground_truth_part(
    targets: Sequence[str], cache: Cache | None = None, only: Sequence[str] = ()
) -> GroundTruthPart:
    """The code of all families, or of those in `only`, and what it must compute.

    Kernels that need NVIDIA's headers are left out where those are not installed. CompileError and
    ToolError as `compile_source` raises them.
    """
    table = TableBuilder()
    contents = {f"{FOLDER}/{SUPPORT_FILE.name}": SUPPORT_FILE.read_bytes()}
    support = SUPPORT_FILE.read_text(encoding="utf-8")
    for target in targets:
        made = compiled(SUPPORT_FILE.name, support, target, (), cache)
        contents[f"{FOLDER}/{target}/{SUPPORT}.cubin"] = made.compilation.cubin
    left_out: list[str] = []
    for family, kernels in families().items():
        if only and family not in only:
            continue
        code = _family_code(kernels, targets, cache)
        if code is None:
            left_out += [kernel.name for kernel in kernels]
            continue
        contents[f"{FOLDER}/{family}.cu"] = kernels[0].source.read_bytes()
        for target, made in code.items():
            contents[f"{FOLDER}/{target}/{family}.cubin"] = made.compilation.cubin
        for kernel in kernels:
            table.add(kernel, code[targets[0]])
    contents |= {f"{FOLDER}/{name}": data for name, data in table.files(contents).items()}
    return GroundTruthPart(contents, tuple(left_out))


def _family_code(
    kernels: Sequence[SuiteKernel], targets: Sequence[str], cache: Cache | None
) -> dict[str, CompiledSource] | None:
    """The family's code for every target; None where NVIDIA's headers are missing."""
    names = [launch.kernel for k in kernels for scale in Scale for launch in k.launches(scale)]
    source = kernels[0].source
    text = source.read_text(encoding="utf-8")
    try:
        return {t: compiled(source.name, text, t, names, cache) for t in targets}
    except CompileError as error:
        needs_headers = any(NVIDIA_HEADERS in kernel.needs for kernel in kernels)
        if needs_headers and "open source file" in error.what:
            return None
        raise


def compiled(
    name: str, text: str, target: str, kernels: Sequence[str], cache: Cache | None
) -> CompiledSource:
    """A source as the pack holds it: no lines of the source, so the same code on every machine."""
    return compile_source(
        text, name=name, architecture=target, kernels=kernels, options=_OPTIONS, cache=cache
    )


@dataclass
class TableBuilder:
    """The table while it grows, and the files that it points into."""

    kernels: dict[str, Any] = field(default_factory=dict)
    starts: list[dict[str, Any]] = field(default_factory=list)
    states: bytearray = field(default_factory=bytearray)
    expected: bytearray = field(default_factory=bytearray)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, kernel: SuiteKernel, code: CompiledSource) -> None:
        """A kernel with all its configurations."""
        symbols = {label: mangled for mangled, label in code.labels.items()}
        pairs = zip(kernel.launches(Scale.SMALL), kernel.launches(Scale.FULL), strict=True)
        self.kernels[kernel.name] = {
            "family": kernel.family,
            "configurations": [
                self._configuration(kernel, small, full, code, symbols[full.kernel])
                for small, full in pairs
            ],
        }

    def _configuration(
        self,
        kernel: SuiteKernel,
        small: Launch,
        full: Launch,
        code: CompiledSource,
        symbol: str,
    ) -> dict[str, Any]:
        result = expected_result(kernel, small)
        types = {label: small.args[label] for label in result.arrays}
        return {
            "kernel": full.kernel,
            "symbol": symbol,
            "small": self._launch(small, code, symbol),
            "full": self._launch(full, code, symbol),
            "expected": {
                label: self.wanted(label, array.type, result)
                for label, array in types.items()
                if isinstance(array, Array)
            },
        }

    def _launch(self, launch: Launch, code: CompiledSource, symbol: str) -> dict[str, Any]:
        made = code.kernel(symbol)
        arguments = []
        for parameter, label, value in match_arguments(made, check_launch(made, launch)):
            argument: dict[str, Any] = {"label": label, "text": argument_text(value)}
            if isinstance(value, Array):
                argument["start"] = self.start(value)
            else:
                assert isinstance(value, int | float)
                argument["hex"] = pack_scalar(parameter, value).hex()
            arguments.append(argument)
        shape = {"grid": launch.grid, "block": launch.block, "smem_bytes": launch.smem_bytes}
        return {**shape, "args": arguments}

    def start(self, array: Array) -> int:
        """The number of how an array starts; arrays of any shape that start alike share it."""
        key = argument_text(Array(array.type, (array.elements,), array.fill))
        if key not in self._numbers:
            start = start_of(array)
            self._numbers[key] = len(self.starts)
            self.starts.append(
                {
                    "size_bytes": start.size_bytes,
                    "kernel": start.kernel,
                    "count": start.count,
                    "piece": start.piece,
                    "low": start.low,
                    "range": start.range,
                    "states_at": len(self.states),
                    "states_bytes": len(start.states),
                    "is_shuffled": start.is_shuffled,
                }
            )
            self.states += start.states
        return self._numbers[key]

    def wanted(self, label: str, type_name: str, result: ExpectedResult) -> dict[str, Any]:
        """What an array must be: a hash where results are exact, else values and tolerances."""
        values = np.ravel(result.arrays[label])
        unordered = label in result.unordered
        wanted = {"type": type_name, "unordered": unordered}
        if result.is_exact:
            values = values.astype(ELEMENT_TYPES[type_name])
            values = np.sort(values) if unordered else values
            same = exact_bytes(array.array(TYPE_CODES[type_name], values.tobytes()))
            return {**wanted, "sha256": hashlib.sha256(same).hexdigest()}
        code = "f" if result.relative >= _SINGLE_ENOUGH else "d"
        data = _coded(values, code)
        at = len(self.expected)
        self.expected += data
        return {
            **wanted,
            "relative": result.relative,
            "absolute": result.absolute,
            "code": code,
            "at": at,
            "size_bytes": len(data),
        }

    def files(self, sources: Mapping[str, bytes]) -> dict[str, bytes]:
        """The table and the files beside it; `suite` stands for all that decides the results."""
        table = {"starts": self.starts, "kernels": self.kernels}
        digest = hashlib.sha256(json.dumps(table).encode())
        for name, data in sorted(sources.items()):
            if name.endswith(".cu"):
                digest.update(data)
        suite = digest.hexdigest()[:16]
        return {
            "table.json": json.dumps({"suite": suite, **table}, indent=1).encode(),
            "states.bin": bytes(self.states),
            "expected.bin": bytes(self.expected),
        }


def _coded(values: NDArray[Any], code: str) -> bytes:
    return values.astype(np.dtype(code).newbyteorder("<")).tobytes()
