"""Modules that a program loads: the code of its kernels for every GPU, and its variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from kernelcast.devices.memory import DeviceMemory
from kernelcast.errors import InputError, NotFoundError
from kernelcast.execution.memory import Region
from kernelcast.frontends.cubin import Cubin, read_cubin
from kernelcast.frontends.fatbin import FatBinary, read_fat_binary
from kernelcast.frontends.machine_kernel import machine_kernel
from kernelcast.frontends.recognise import ELF_MAGIC, FATBIN_MAGIC
from kernelcast.ir import Dim3, Kernel, Space, Variable
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.mangling import source_name
from kernelcast.toolchain.ptxas import assemble

_NAME = "the program"

_CodeVersion = tuple[int, int]


class NoCodeError(InputError):
    """A module has no code that a GPU could run."""


@dataclass(frozen=True)
class _Image:
    """A cubin, read."""

    data: bytes
    cubin: Cubin
    cache: Cache | None

    def kernel(self, name: str, cluster: Dim3 | None) -> Kernel:
        """A kernel with its instructions."""
        found = machine_kernel(
            self.data, self.cubin, name, name=_NAME, cluster=cluster, cache=self.cache
        )
        return replace(found, label=source_name(name))


@dataclass
class ProgramModule:
    """What a program loaded: a fat binary, a cubin, or PTX.

    Its variables are placed in `memory` when they are first asked for. Launches copy those in
    constant memory to where the kernel sees them.
    """

    data: bytes
    memory: DeviceMemory
    owner: object
    cache: Cache | None = None
    _images: dict[_CodeVersion, tuple[_Image, ...]] = field(default_factory=dict)
    _kernels: dict[tuple[str, _CodeVersion, Dim3 | None], Kernel] = field(default_factory=dict)
    _variables: dict[str, Region] = field(default_factory=dict)

    def shell(self, name: str, capability: _CodeVersion) -> Kernel:
        """What a kernel takes and needs, without its code. NotFoundError where there is none."""
        return self._image(name, capability).cubin.kernels[name]

    def kernel(self, name: str, capability: _CodeVersion, cluster: Dim3 | None = None) -> Kernel:
        """A kernel by its mangled name, for a GPU of this compute capability.

        `cluster` are the blocks of a cluster where a launch says so, not the kernel. Raises
        NotFoundError, NoCodeError where nothing in the module runs there, and ToolError and
        CompileError where its PTX cannot be assembled.
        """
        key = name, capability, cluster
        if key not in self._kernels:
            self._kernels[key] = self._image(name, capability).kernel(name, cluster)
        return self._kernels[key]

    def variable(self, name: str, capability: _CodeVersion) -> Region:
        """Where a variable is, in global or constant memory. NotFoundError where there is none."""
        known = [self.variables(image.cubin) for image in self._images_for(capability)]
        for variables in known:
            if name in variables:
                return variables[name]
        raise NotFoundError("variable", name, [n for variables in known for n in variables])

    def variables_of(self, name: str, capability: _CodeVersion) -> Mapping[str, Region]:
        """The variables of the module beside a kernel, by name."""
        return self.variables(self._image(name, capability).cubin)

    def variables(self, cubin: Cubin) -> Mapping[str, Region]:
        """The variables of a cubin; code for several GPUs shares them."""
        for variable in _variables(cubin):
            if variable.name not in self._variables:
                self._variables[variable.name] = self.memory.place(
                    variable.name,
                    variable.initial,
                    variable.size_bytes,
                    self.owner,
                    variable.space is Space.GLOBAL,
                )
        return self._variables

    def _image(self, name: str, capability: _CodeVersion) -> _Image:
        images = self._images_for(capability)
        for image in images:
            if name in image.cubin.kernels:
                return image
        raise NotFoundError("kernel", name, [k for image in images for k in image.cubin.kernels])

    def _images_for(self, capability: _CodeVersion) -> tuple[_Image, ...]:
        found = self._images.get(capability)
        if found is None:
            found = self._images[capability] = tuple(
                _Image(data, read_cubin(data, name=_NAME), self.cache)
                for data in self._cubins(capability)
            )
        return found

    def _cubins(self, capability: _CodeVersion) -> Iterator[bytes]:
        if self.data.startswith(ELF_MAGIC):
            yield self.data
        elif not self.data.startswith(FATBIN_MAGIC):
            yield self._assembled(self.data, capability)
        else:
            fat = self._fat_binary
            try:
                architecture = fat.architecture_for(capability)
            except InputError as error:
                for text in fat.texts_for(capability):
                    yield self._assembled(text, capability)
                    return
                raise NoCodeError(error.what, hint=error.hint) from None
            yield from (data for _, data in fat.cubins(architecture))

    @cached_property
    def _fat_binary(self) -> FatBinary:
        return read_fat_binary(self.data, name=_NAME)

    def _assembled(self, text: bytes, capability: _CodeVersion) -> bytes:
        ptx = text.rstrip(b"\0").decode("utf-8", "replace")
        major, minor = capability
        return assemble(ptx, f"sm_{major}{minor}", name=_NAME, cache=self.cache)


def _variables(cubin: Cubin) -> Iterator[Variable]:
    """The variables of a cubin in global and constant memory, with what they hold at first."""
    for name, kernel in cubin.kernels.items():
        banks = cubin.constant_banks(name)
        yield from (v for v in kernel.variables if v.space is Space.GLOBAL)
        for bank, offset, variable in banks.variables:
            initial = banks.data[bank][offset : offset + variable.size_bytes]
            yield replace(variable, initial=initial)
        return  # they are those of the module: every kernel has them
