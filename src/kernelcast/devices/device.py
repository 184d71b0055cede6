"""The device: what a program asks for, answered and done."""

from __future__ import annotations

import hashlib
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from kernelcast.checking.checked import check_run
from kernelcast.checking.written import WrittenBytes
from kernelcast.devices.attributes import (
    SHARED_PER_BLOCK_OPTIN,
    device_attributes,
    memory_bytes,
    transfer_seconds,
)
from kernelcast.devices.clock import Clock
from kernelcast.devices.code import ProgramModule
from kernelcast.devices.errors import Code, code_of
from kernelcast.devices.forecasts import Forecasts, LaunchForecast, argument_values
from kernelcast.devices.heap import HEAP_BYTES, Heap, LaunchSystem
from kernelcast.devices.memory import ROOM_BYTES, DeviceMemory
from kernelcast.devices.record import CopyKind, LaunchRecord, ProgramRecord, TransferRecord
from kernelcast.devices.repeats import RepeatedLaunch, does_the_same_again
from kernelcast.devices.timers import timers_of
from kernelcast.errors import ExecutionError, KernelcastError, LaunchError, UnsupportedError
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory, Region
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.ir import Kernel, Launch
from kernelcast.ir.texture import DESCRIPTOR_BYTES, MOST_LEVELS
from kernelcast.isas.ptx.alone import alone
from kernelcast.isas.ptx.steps import SYSTEM
from kernelcast.machines.launch_limits import check_launch
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy, occupancy_of_launch
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.mangling import source_name

Reply = tuple[Code, bytes]
_Say = Callable[[str], None]

_DONE: Reply = Code.SUCCESS, b""
_DEVICE_MEMORY, _HOST_MEMORY, _RESERVED = 0, 1, 4
_LAUNCH = struct.Struct("<Ii3I3IQQI3I")
_TRANSFERS = tuple(CopyKind)

_WORKSPACE_BYTES = 4096
_NO_CARVEOUT = -1
"""A kernel that prefers no size of shared memory, as CUDA has it."""

_FIRST_TEXTURE = 1 << 20
"""The place of the first descriptor among the parameters: behind those of any kernel."""

_TEXEL_WORD_BYTES = 4

_MOST_COMPARED_BYTES = 2 << 30
"""Of arrays that kernels may write, to find out whether a launch changes any: a second's work."""


def _to_standard_error(text: str) -> None:
    print(f"kernelcast: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class _Function:
    """A kernel as a program knows it: the module, and the mangled name."""

    module: ProgramModule
    name: str

    def key(self) -> tuple[int, str]:
        return id(self.module), self.name


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Where a copy or a fill went."""

    address: int
    pitch_bytes: int
    row_bytes: int
    rows: int


@dataclass
class Process:
    """What one process of the program holds: modules and functions by number, and its clock.

    `textures` are the descriptors of textures and surfaces (`ir/texture.py`) by their handles;
    `watch` raises where the process no longer waits for its launch.
    """

    modules: list[ProgramModule] = field(default_factory=list)
    heap: Heap | None = None
    workspace: Region | None = None
    functions: list[_Function] = field(default_factory=list)
    textures: dict[int, bytes] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    watch: Callable[[], None] = lambda: None


@dataclass
class VirtualGpu:
    """A GPU that executes what it is asked for; the first of `machines`.

    Launches are forecast for all of them, where there are `forecasts`; or each is checked. `say` is
    told what goes wrong on the device. `watch` is called now and then while a kernel runs; what it
    raises ends the launch.
    """

    machines: Sequence[Machine]
    forecasts: Forecasts | None
    cache: Cache | None = None
    threads: int | None = None
    budget: int | None = None
    say: _Say = _to_standard_error
    watch: Callable[[], None] = lambda: None
    record: ProgramRecord = field(default_factory=ProgramRecord)
    checks: bool = False

    def __post_init__(self) -> None:
        self.memory = DeviceMemory(memory_bytes(self.machine))
        self.written = WrittenBytes(ROOM_BYTES) if self.checks else None
        self._repeats = RepeatedLaunch()
        self._host_reaches: set[int] = set()
        self._pure: dict[int, tuple[Kernel, bool]] = {}

    @property
    def machine(self) -> Machine:
        """The GPU that the program sees."""
        return self.machines[0]

    def describe(self) -> bytes:
        """Where its memory is, and what it answers about itself."""
        head = struct.pack("<QQQ", GLOBAL_BASE, ROOM_BYTES, self.memory.size_bytes)
        numbers = struct.pack("<256i", *device_attributes(self.machine))
        return head + numbers + self.machine.title.encode()[:255].ljust(256, b"\0")

    def allocate(self, process: Process, size_bytes: int, kind: int) -> Reply:
        """Memory of the device, or of the host where kernels reach it."""
        counts = kind not in (_HOST_MEMORY, _RESERVED)
        region = self.memory.allocate(
            size_bytes, process, counts=counts, of_host=kind == _HOST_MEMORY
        )
        self.record.most_bytes = max(self.record.most_bytes, self.memory.used_bytes)
        if region is None:
            return Code.MEMORY_ALLOCATION, b""
        self._repeats.disturbed()
        if kind not in (_DEVICE_MEMORY, _RESERVED):
            self._host_reaches.add(region.address)
        if self.written is not None and kind in (_DEVICE_MEMORY, _RESERVED):
            self.written.begins_empty(region.address, size_bytes)
        return Code.SUCCESS, struct.pack("<Q", region.address)

    def free(self, address: int) -> Reply:
        """Give an allocation back."""
        self._repeats.disturbed()
        self._host_reaches.discard(address)
        if self.written is not None:
            self.written.forget(address)
        return (Code.SUCCESS if self.memory.free(address) else Code.INVALID_VALUE), b""

    def memory_info(self) -> Reply:
        """Bytes that are free, and all."""
        size = self.memory.size_bytes
        return Code.SUCCESS, struct.pack("<QQ", size - self.memory.used_bytes, size)

    def load(self, process: Process, data: bytes) -> Reply:
        """Take a module; it is read when something of it is asked for."""
        self._repeats.disturbed()
        process.modules.append(ProgramModule(data, self.memory, process, self.cache))
        return Code.SUCCESS, struct.pack("<I", len(process.modules) - 1)

    def function(self, process: Process, module: int, name: str) -> Reply:
        """A kernel: its number, what it needs, and where its parameters stand."""
        shell = process.modules[module].shell(name, self.machine.compute_capability)
        process.functions.append(_Function(process.modules[module], name))
        needs, attributes = shell.resources, device_attributes(self.machine)
        most_shared = min(
            attributes[8], max(attributes[SHARED_PER_BLOCK_OPTIN] - needs.static_shared_bytes, 0)
        )
        numbers = (
            needs.registers or 0,
            needs.static_shared_bytes,
            needs.local_bytes,
            needs.constant_bytes,
            needs.max_threads_per_block or attributes[1],
            int(shell.target.removeprefix("sm_").rstrip("af")),
            most_shared,
            _NO_CARVEOUT,
        )
        head = struct.pack("<I8iI", len(process.functions) - 1, *numbers, len(shell.parameters))
        places = (struct.pack("<II", p.offset_bytes, p.size_bytes) for p in shell.parameters)
        return Code.SUCCESS, head + b"".join(places)

    def variable(self, process: Process, module: int, name: str) -> Reply:
        """Address and size of a variable of a module."""
        region = process.modules[module].variable(name, self.machine.compute_capability)
        return Code.SUCCESS, struct.pack("<QQ", region.address, region.size_bytes)

    def texture(self, process: Process, descriptor: bytes) -> Reply:
        """A handle of a texture or surface, by the descriptors of its levels."""
        for level in range(0, len(descriptor), DESCRIPTOR_BYTES):
            (base,) = struct.unpack_from("<Q", descriptor, level)
            # Texels are read in whole words, and arrays of bytes need not end with one.
            self.memory.lengthen(base, _TEXEL_WORD_BYTES)
        places = (_FIRST_TEXTURE + DESCRIPTOR_BYTES * MOST_LEVELS * n for n in count())
        handle = next(place for place in places if place not in process.textures)
        process.textures[handle] = descriptor
        return Code.SUCCESS, struct.pack("<Q", handle)

    def occupancy(
        self, process: Process, function: int, threads: int, shared: int, carveout: int
    ) -> Reply:
        """How many blocks of a kernel an SM holds; 0 where none fits."""
        chosen = process.functions[function]
        needs = chosen.module.shell(chosen.name, self.machine.compute_capability).resources
        try:
            blocks = occupancy(
                self.machine,
                threads=threads,
                registers=needs.registers,
                shared_bytes=needs.static_shared_bytes + shared,
                shared_preference_percent=_preferred(carveout),
                named_barriers=needs.named_barriers,
            ).blocks_per_sm
        except LaunchError:
            blocks = 0
        return Code.SUCCESS, struct.pack("<i", blocks)

    def moved(self, process: Process, kind: CopyKind, stream: int, to: WrittenRows) -> None:
        """Note a copy or a fill that the program has done."""
        seconds, size_bytes = 0.0, to.row_bytes * to.rows
        if kind is not CopyKind.DEVICE_TO_HOST:
            self._repeats.disturbed()
        if self.written is not None and kind is not CopyKind.HOST_TO_HOST:
            for row in range(to.rows):
                self._fill(to.address + row * to.pitch_bytes, to.row_bytes)
        if kind is not CopyKind.HOST_TO_HOST:
            over_bus = kind in (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST)
            passes = 2 if kind is CopyKind.DEVICE_TO_DEVICE else 1
            seconds = transfer_seconds(self.machine, size_bytes, over_bus=over_bus, passes=passes)
        begin, _ = process.clock.work(stream, seconds)
        self.record.transfers.append(TransferRecord(kind, size_bytes, seconds, stream, begin))
        self.record.end_s = max(self.record.end_s, process.clock.end_s)

    def launch(self, process: Process, request: bytes) -> Reply:
        """Forecast a launch and execute all of it.

        The answer holds the code of what went wrong while the kernel ran, and what it printed; a
        launch that cannot be made is an error of its own.
        """
        number, carveout, *rest = _LAUNCH.unpack_from(request)
        grid, block, cluster = rest[:3], rest[3:6], rest[9:]
        shared, stream, is_cooperative = rest[6:9]
        function = process.functions[number]
        launch = Launch(
            tuple(grid),
            tuple(block),
            smem_bytes=shared,
            kernel=source_name(function.name),
            cluster=tuple(cluster) if all(cluster) else None,
            carveout=_preferred(carveout),
        )
        try:
            resident = self._resident(function, launch, cooperative=bool(is_cooperative))
            workspace = self._workspace(process) if is_cooperative else 0
            kernel, memory = self._prepared(
                process,
                function,
                launch,
                request[_LAUNCH.size :],
                self.machine,
                is_sample=False,
                workspace=workspace,
            )
        except LaunchError as error:
            self._failed(function, error)
            return self._refusal(launch), b""

        def watch(_done: float) -> None:
            process.watch()
            self.watch()

        if self.checks:
            blocks = all_blocks(launch.blocks)
            run = Run(
                kernel,
                launch,
                memory,
                blocks,
                resident=resident,
                budget=self.budget,
                cache=self.cache,
            )
            return self._checked(function, run, watch)
        forecast = self._forecast(process, function, launch, request[_LAUNCH.size :], workspace)
        memory.timers = timers_of(forecast, self.machine, process.clock.work(stream, 0.0)[0])
        started = time.perf_counter()
        key = function.key(), launch, request[_LAUNCH.size :]
        is_repeat, instructions = self._repeats.are_settled(key), 0
        try:
            if not is_repeat:
                instructions = execute(
                    kernel,
                    launch,
                    memory,
                    threads=self.threads,
                    resident=resident,
                    budget=self.budget,
                    cache=self.cache,
                    progress=watch,
                ).thread_instructions
                self._note_executed(key, kernel, memory)
        except UnsupportedError as error:
            self._failed(function, error)
            return Code.NOT_SUPPORTED, b""
        except ExecutionError as error:
            self._repeats.disturbed()
            self._failed(function, error)
            return _ended(memory, code_of(error))
        begin, _ = process.clock.work(stream, forecast.times_s[0])
        self.record.launches.append(
            LaunchRecord(
                kernel.shown,
                launch,
                forecast,
                stream,
                begin,
                time.perf_counter() - started,
                instructions,
                is_repeat,
            )
        )
        self.record.end_s = max(self.record.end_s, process.clock.end_s)
        return _ended(memory)

    def _checked(self, function: _Function, run: Run, watch: Progress) -> Reply:
        """Execute a launch and check it."""
        try:
            checked = check_run(run, self.written, watch)
        except UnsupportedError as error:
            self._failed(function, error)
            return Code.NOT_SUPPORTED, b""
        self.record.checked.append(checked)
        if checked.error is None:
            return _ended(run.memory)
        self.say(f"{code_of(checked.error).title}: {checked.error}")
        return _ended(run.memory, code_of(checked.error))

    def _note_executed(self, key: object, kernel: Kernel, memory: Memory) -> None:
        """Find out whether the same launch would change anything."""
        written = [region for region in memory.regions if region.writable]
        size_bytes = sum(region.size_bytes for region in written)
        if self._host_reaches or size_bytes > _MOST_COMPARED_BYTES or not self._is_pure(kernel):
            self._repeats.disturbed()
            return

        def digest() -> bytes:
            # Not against anybody's will, so that the fastest of the strong ones will do.
            found = hashlib.sha1(usedforsecurity=False)
            for region in written:
                found.update(memory.bytes_at(region.address, region.size_bytes).data)
            return found.digest()

        self._repeats.executed(key, digest)

    def _is_pure(self, kernel: Kernel) -> bool:
        known = self._pure.get(id(kernel))
        if known is None or known[0] is not kernel:
            known = self._pure[id(kernel)] = kernel, does_the_same_again(kernel)
        return known[1]

    def _fill(self, address: int, size_bytes: int) -> None:
        """The program has written to its memory."""
        if self.written is not None and self.memory.region_at(address) is not None:
            self.written.fill(address, size_bytes)

    def leave(self, process: Process) -> None:
        """Give back what a process that has ended holds."""
        self.memory.free_all_of(process)
        # Modules hold their process, and that its connection, and so this device and its memory,
        # until Python looks for circles.
        process.modules.clear()
        process.functions.clear()
        process.watch = lambda: None

    def _resident(self, function: _Function, launch: Launch, *, cooperative: bool) -> int:
        """How many blocks of a launch the device holds at once; LaunchError where it takes no such
        launch."""
        check_launch(self.machine, launch)
        shell = function.module.shell(function.name, self.machine.compute_capability)
        most = shell.resources.max_threads_per_block
        if most is not None and launch.threads_per_block > most:
            raise LaunchError(f"a block of {launch.threads_per_block} threads; it takes {most}")
        held = occupancy_of_launch(self.machine, shell.resources, launch)
        resident = held.blocks_per_sm * int(self.machine.number("sm.count"))
        if cooperative and resident < launch.blocks:
            raise LaunchError("the device does not hold all blocks of a cooperative launch at once")
        return resident

    def _refusal(self, launch: Launch) -> Code:
        """The code of a launch that does not fit: of its shape, or of what a block needs."""
        try:
            check_launch(self.machine, launch)
        except LaunchError:
            return Code.INVALID_CONFIGURATION
        return Code.LAUNCH_OUT_OF_RESOURCES

    def _failed(self, function: _Function, error: KernelcastError) -> None:
        text = str(error) if error.where else f"kernel {source_name(function.name)}: {error}"
        self.record.failures.append(text)
        self.say(f"{code_of(error).title}: {text}")

    def _forecast(
        self,
        process: Process,
        function: _Function,
        launch: Launch,
        parameters: bytes,
        workspace: int,
    ) -> LaunchForecast:
        """The forecast of a launch; of a cooperative one, where blocks meet at `workspace`, the
        sampled blocks wait for no other."""

        def prepared(machine: Machine) -> tuple[Kernel, Memory]:
            kernel, memory = self._prepared(
                process, function, launch, parameters, machine, is_sample=True, workspace=workspace
            )
            return (alone(kernel) if workspace else kernel), memory

        if self.forecasts is None:
            return LaunchForecast((0.0,) * len(self.machines), (), why_none="it was not asked for")
        arguments = argument_values(parameters, self.memory.region_at, process.textures)
        kernel = (*function.key(), bool(workspace))
        return self.forecasts.of(kernel, launch, arguments, prepared, in_turn=bool(workspace))

    def _prepared(
        self,
        process: Process,
        function: _Function,
        launch: Launch,
        parameters: bytes,
        machine: Machine,
        *,
        is_sample: bool,
        workspace: int = 0,
    ) -> tuple[Kernel, Memory]:
        """The kernel's code for a GPU, and what it finds in memory; what a sample leaves there is
        to be forgotten."""
        capability = machine.compute_capability
        kernel = function.module.kernel(function.name, capability, launch.cluster)
        variables = function.module.variables_of(function.name, capability)
        # The program laid them out by what it was told of the kernel.
        told = function.module.shell(function.name, self.machine.compute_capability).parameters
        values = tuple(
            (p, parameters[given.offset_bytes :][: p.size_bytes].ljust(p.size_bytes, b"\0"))
            for p, given in zip(kernel.parameters, told, strict=True)
        )
        heap = self._heap(process) if _calls_system(kernel) else None
        reservation = self.memory.private if is_sample else self.memory.shared
        memory = Memory.laid_out(
            kernel,
            launch,
            reservation,
            self.memory.regions,
            values,
            variables,
            descriptors=process.textures,
            workspace=workspace,
        )
        if not self.checks and (unit := machine.get("occupancy.shared_unit")):
            # A block is given whole units, and what it reads at their end is no error.
            memory.shared_bytes = -(-memory.shared_bytes // int(unit)) * int(unit)
        memory.system = LaunchSystem(heap.copy() if heap is not None and is_sample else heap)
        _set_constants(kernel, memory, variables)
        return kernel, memory

    def _workspace(self, process: Process) -> int:
        """The address at which the blocks of a cooperative launch meet."""
        if process.workspace is None:
            process.workspace = self.memory.allocate(_WORKSPACE_BYTES, process, counts=False)
        if process.workspace is None:
            raise LaunchError("no addresses are left for the blocks of a launch to meet at")
        self.memory.shared.view(process.workspace.address, _WORKSPACE_BYTES)[:] = 0
        return process.workspace.address

    def _heap(self, process: Process) -> Heap | None:
        """What the kernels of a process allocate in; None where no addresses are left."""
        if process.heap is None:
            region = self.memory.allocate(HEAP_BYTES, process, counts=False)
            process.heap = None if region is None else Heap(region)
        return process.heap


def _calls_system(kernel: Kernel) -> bool:
    return any(s.opcode == SYSTEM for i in kernel.instructions for s in kernel.steps(i.index))


def _ended(memory: Memory, code: Code = Code.SUCCESS) -> Reply:
    """The answer to a launch: what went wrong while the kernel ran, and what it printed."""
    assert isinstance(memory.system, LaunchSystem)
    return Code.SUCCESS, struct.pack("<i", code) + bytes(memory.system.text)


def _preferred(carveout: int) -> int | None:
    """The shared memory that a kernel prefers, in percent, as `ir.Launch` has it."""
    return None if carveout == _NO_CARVEOUT else carveout


def _set_constants(kernel: Kernel, memory: Memory, variables: Mapping[str, Region]) -> None:
    """Let the kernel see what the `__constant__` variables hold now."""
    for variable in kernel.constants.variables if kernel.constants is not None else ():
        place = variables.get(variable.name)
        if place is not None:
            held = memory.bytes_at(place.address, place.size_bytes)
            end = variable.offset_bytes + variable.size_bytes
            memory.parameters[variable.offset_bytes : end] = held
