"""LLVM IR to machine code of this CPU, cached by content."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as once
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from kernelcast.toolchain.cache import Cache, content_key

_LARGE_IR_BYTES = 400_000
"""IR (some 300 instructions) above which code is generated fast rather than well: the generator's
time grows faster than the code, and a sample of blocks would not pay it back."""


@dataclass(frozen=True)
class HostCode:
    """A loaded `run` function; it lives as long as this value does."""

    run: Any
    engine: Any


_loaded: dict[str, HostCode] = {}
_LOADED_MODULES = 128


def _level(ir: str) -> int:
    return 1 if len(ir) <= _LARGE_IR_BYTES else 0


def _target_machine(level: int) -> Any:
    """A new one each time: an execution engine owns and disposes of its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        jit=True,
    )


@once
def host() -> tuple[str, str]:
    """Name and features of this CPU, for which machine code is made."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _key(ir: str) -> str:
    return content_key(
        *host(),
        llvmlite.__version__,
        str(_level(ir)),
        ir,
    )


def _compile(ir: str) -> bytes:
    machine = _target_machine(_level(ir))
    module = llvm.parse_assembly(ir)
    module.verify()
    # Promoting stack slots to registers is what matters; the usual pipelines take twenty times as
    # long and leave code that is no faster.
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    builder = llvm.create_pass_builder(machine, llvm.PipelineTuningOptions(speed_level=0))
    if _level(ir):
        inline = llvm.create_new_module_pass_manager()
        inline.add_always_inliner_pass()
        inline.run(module, builder)
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    code: bytes = machine.emit_object(module)
    return code


def machine_code(
    ir: str, cache: Cache | None = None, check: Callable[[], None] | None = None
) -> HostCode:
    """Compile a module whose entry is `i32 run(ptr)`, or take its code from the cache.

    `check` is called before anything is compiled. What is in the cache was checked before it.
    The last few modules stay loaded, so that a second run in the process costs nothing.
    """
    key = _key(ir)
    loaded = _loaded.get(key)
    if loaded is None:
        loaded = _loaded[key] = _load(ir, key, cache, check)
        while len(_loaded) > _LOADED_MODULES:
            del _loaded[next(iter(_loaded))]
    return loaded


def _load(ir: str, key: str, cache: Cache | None, check: Callable[[], None] | None) -> HostCode:
    code = cache.get("object", key) if cache is not None else None
    if code is None:
        if check is not None:
            check()
        code = _compile(ir)
        if cache is not None:
            cache.put("object", key, code)
    engine = load_object(code)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(engine.get_function_address("run"))
    return HostCode(run, engine)


def load_object(code: bytes) -> Any:
    """Load an object file; its functions are there as long as the engine returned is."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(0))
    engine.set_object_cache(getbuffer_func=lambda module: code)
    engine.finalize_object()
    return engine
