"""A function of a C file, compiled by the system's compiler and run on this machine's CPU.

The file is the user's own program: it is compiled as it stands, and called with the arrays and
sizes of a launch. It runs in a process of its own, which ends with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError, InputError, ToolError
from kernelcast.execution.fills import ELEMENT_TYPES, fill_array
from kernelcast.frontends.c.launching import FunctionLaunches
from kernelcast.frontends.c.plan import FunctionPlan
from kernelcast.frontends.expressions import Number
from kernelcast.ir import Array
from kernelcast.processes import captured

_DEFAULT_FLAGS = ("-O3", "-march=native")
"""How a program is compiled that is to be fast."""
_TIME_LIMIT_S = 120.0
_ENOUGH_S = 0.25
"""Seconds of calls, all together, after which there are enough, if three were made; of long ones
twenty times as much ends it."""
_MOST_CALLS = 1000


@dataclass(frozen=True)
class NativeCode:
    """How a C file is compiled: compiler, its flags, and what the preprocessor is told."""

    compiler: str
    flags: tuple[str, ...] = _DEFAULT_FLAGS
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class NativeRun:
    """What calls of a function gave: seconds of each, its arrays and what it returned at the end.

    All calls start from the same arrays.
    """

    seconds: tuple[float, ...]
    arrays: Mapping[str, NDArray[Any]] = field(repr=False)
    returned: float | None = None

    @property
    def least_s(self) -> float:
        """The fastest call: what disturbs it only makes it longer."""
        return min(self.seconds)


def c_compiler(name: str = "") -> str:
    """The path of a C compiler: `name`, else that of $CC, else `cc`, `gcc` or `clang`.

    ToolError where there is none.
    """
    wanted = [name] if name else [*filter(None, [os.environ.get("CC")]), "cc", "gcc", "clang"]
    found = next(filter(None, map(shutil.which, wanted)), None)
    if found is None:
        raise ToolError(
            f"{name} is not installed" if name else "there is no C compiler",
            hint="install one, or give the time on the CPU with --cpu-time SECONDS",
        )
    return found


def run_native(
    source: Path,
    plan: FunctionPlan,
    launches: FunctionLaunches,
    code: NativeCode,
    *,
    enough_s: float = _ENOUGH_S,
) -> NativeRun:
    """Call a function with the arrays and sizes of its launches.

    Raises InputError where the compiler refuses it, and ExecutionError where it does not come to
    its end.
    """
    _check_arrays(plan, launches)
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as folder:
        place = Path(folder)
        program = _compiled(place, _driver(source, plan, launches), code, source)
        (place / "in").write_bytes(b"".join(a.tobytes() for a in _filled(launches).values()))
        text = _called(program, place, enough_s, plan.name)
        return NativeRun(
            tuple(float(x) for x in text[0].split()),
            _arrays((place / "out").read_bytes(), launches),
            float(text[1]) if len(text) > 1 else None,
        )


def _check_arrays(plan: FunctionPlan, launches: FunctionLaunches) -> None:
    """InputError where a parameter's length is not known, because its loops became no kernels."""
    for name in plan.parameters:
        if plan.types[name].is_array and name not in launches.arrays:
            raise InputError(
                f"how long {name} must be is not known: no kernel uses it",
                where=f"{plan.name}",
                hint="give the time on the CPU with --cpu-time SECONDS",
            )


def _filled(launches: FunctionLaunches) -> dict[str, NDArray[Any]]:
    """The arrays as the function finds them."""
    found = {}
    for name, array in _given(launches).items():
        found[name] = view = np.zeros(array.elements, ELEMENT_TYPES[array.type])
        fill_array(view, array)
    return found


def _given(launches: FunctionLaunches) -> dict[str, Array]:
    local = {region.name for region in launches.regions if region.is_local}
    return {name: array for name, array in launches.arrays.items() if name not in local}


def _arrays(data: bytes, launches: FunctionLaunches) -> dict[str, NDArray[Any]]:
    found, at = {}, 0
    for name, array in _given(launches).items():
        end = at + array.size_bytes
        found[name] = np.frombuffer(data[at:end], ELEMENT_TYPES[array.type])
        at = end
    return found


def _compiled(place: Path, text: str, code: NativeCode, source: Path) -> Path:
    (place / "driver.c").write_text(text, encoding="utf-8", errors="surrogateescape")
    program = place / "driver"
    command = [code.compiler, "-std=gnu99", "-w", *code.flags]
    command += [f"-D{each}" for each in code.defines]
    command += [f"-I{folder.resolve()}" for folder in code.include_dirs]
    command += ["-o", str(program), str(place / "driver.c"), "-lm"]
    done = captured(command)
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "error" in line), lines[0] if lines else "")
        raise InputError(
            f"the C compiler refuses it: {first.replace(str(place), '')}",
            where=str(source),
            hint="correct the source, or give --cpu-time SECONDS",
        )
    return program


def _called(program: Path, place: Path, enough_s: float, function: str) -> list[str]:
    command = [str(program), str(place / "in"), str(place / "out"), str(enough_s)]
    try:
        done = captured(command, timeout=_TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise ExecutionError(
            f"takes longer than {_TIME_LIMIT_S:g} s on the CPU",
            where=function,
            hint="give smaller sizes, or --cpu-time SECONDS",
        ) from None
    if done.returncode:
        raise ExecutionError(
            f"ended with status {done.returncode} on the CPU",
            where=function,
            hint="give other sizes, or --cpu-time SECONDS",
        )
    # What the program itself prints stands before.
    return done.stdout.rpartition(_ANSWER)[2].splitlines()


_ANSWER = "kernelcast answers:\n"


def _driver(source: Path, plan: FunctionPlan, launches: FunctionLaunches) -> str:
    """A program around the function: reads arrays, calls it, writes them."""
    given = _given(launches)
    names = {name: f"kc_of_{name}" for name in given}
    declared, restored, saved = [], [], []
    for name, array in given.items():
        size = array.size_bytes
        declared.append(f"void *{names[name]} = kc_read(kc_in, {size}), *{names[name]}_now = 0;")
        if name in plan.globals and plan.types[name].is_pointer:
            declared.append(f"{names[name]}_now = {name} = kc_new({size});")
        elif name in plan.globals:
            declared.append(f"{names[name]}_now = (void *) {name};")
        else:
            declared.append(f"{names[name]}_now = kc_new({size});")
        restored.append(f"memcpy({names[name]}_now, {names[name]}, {size});")
        saved.append(f"fwrite({names[name]}_now, 1, {size}, kc_out);")
    for name in plan.globals:
        if name in launches.values and not plan.types[name].is_const:
            restored.append(f"{name} = {_literal(launches.values[name])};")
    parameters = plan.node.decl.type.args.params if plan.node.decl.type.args else []
    arguments = [
        f"(void *) {names[each.name]}_now"
        if each.name in names
        else _literal(launches.values.get(each.name, 0))
        for each in parameters
        if getattr(each, "name", None)
    ]
    function = _MAIN if plan.name == "main" else plan.name
    call = f"{function}({', '.join(arguments)})"
    returns = _returns(plan)
    return _DRIVER.format(
        source=str(source.resolve()).replace("\\", "\\\\").replace('"', '\\"'),
        declared="\n    ".join(declared),
        restored="\n        ".join(restored),
        saved="\n    ".join(saved),
        call=f"kc_result = {call};" if returns else f"{call};",
        shown='printf("\\n%.17g\\n", (double) kc_result);' if returns else "",
        answer=_ANSWER.rstrip("\n"),
        most=_MOST_CALLS,
    )


def _returns(plan: FunctionPlan) -> bool:
    """Whether the function returns a number."""
    type_ = plan.node.decl.type.type
    return "void" not in getattr(getattr(type_, "type", None), "names", ["void"])


def _literal(value: Number) -> str:
    return str(value) if isinstance(value, int) else value.hex()


_MAIN = "kc_program_main"
"""What the program's own `main` is called in the driver."""

_DRIVER = """\
#define main kc_program_main
#include "{source}"
#undef main
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *kc_new(size_t size) {{
    void *made = malloc(size ? size : 1);
    if (!made) exit(3);
    return made;
}}

static void *kc_read(FILE *in, size_t size) {{
    void *made = kc_new(size);
    if (fread(made, 1, size, in) != size) exit(4);
    return made;
}}

static double kc_now(void) {{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}}

int main(int argc, char **argv) {{
    static double kc_seconds[{most}];
    double kc_result = 0, kc_sum = 0, kc_enough = atof(argv[3]);
    int kc_calls = 0;
    FILE *kc_in = fopen(argv[1], "rb"), *kc_out = fopen(argv[2], "wb");
    {declared}
    do {{
        {restored}
        double kc_begun = kc_now();
        {call}
        kc_sum += kc_seconds[kc_calls++] = kc_now() - kc_begun;
    }} while ((kc_sum < kc_enough || kc_calls < 3) && kc_sum < 20 * kc_enough && kc_calls < {most});
    {saved}
    fclose(kc_out);
    printf("\\n{answer}\\n");
    for (int kc_call = 0; kc_call < kc_calls; kc_call++) printf("%.9g ", kc_seconds[kc_call]);
    {shown}
    return 0;
}}
"""
