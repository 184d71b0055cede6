"""A program on the device: it is started, and what its processes ask for is answered.

The other end is `shim/device.c`. A process connects to a socket without a file, of a name that its
environment holds, and gets the file of the memory; then it sends requests, one after the other.
"""

from __future__ import annotations

import array
import contextlib
import os
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from pathlib import Path
from typing import IO, Any

from kernelcast.devices.device import Process, Reply, VirtualGpu, WrittenRows
from kernelcast.devices.errors import Code, code_of
from kernelcast.devices.record import CopyKind, HostCall
from kernelcast.errors import InputError, KernelcastError

_SOCKET_VARIABLE = "KERNELCAST_DEVICE"

_REQUEST = struct.Struct("<IIQ")
_REPLY = struct.Struct("<iIQ")
_CREDENTIALS = struct.Struct("3i")
_PATIENCE_S = 2.0
"""How long a program may take to end that was asked to."""


class Request(IntEnum):
    """What a process asks for; those from `COPIED` on get no answer."""

    HELLO = auto()
    ALLOCATE = auto()
    FREE = auto()
    MEMORY_INFO = auto()
    LOAD_MODULE = auto()
    GET_FUNCTION = auto()
    GET_VARIABLE = auto()
    LAUNCH = auto()
    OCCUPANCY = auto()
    ELAPSED = auto()
    NEW_TEXTURE = auto()
    COPIED = 100
    FILLED = auto()
    NEW_STREAM = auto()
    STREAM_WAITS = auto()
    FREE_STREAM = auto()
    RECORD = auto()
    SYNCHRONIZE = auto()
    SYNCHRONIZE_EVENT = auto()
    FREE_TEXTURE = auto()
    COPY_DONE = auto()


_HOST_CALLS: Mapping[Request, HostCall] = {
    Request.ALLOCATE: HostCall.ALLOCATE,
    Request.FREE: HostCall.FREE,
    Request.LAUNCH: HostCall.LAUNCH,
    Request.COPIED: HostCall.COPY,
    Request.FILLED: HostCall.FILL,
    Request.SYNCHRONIZE: HostCall.WAIT,
    Request.SYNCHRONIZE_EVENT: HostCall.WAIT_FOR_EVENT,
}
"""What a request is to the program; `COPY_DONE` is the end of the copy before."""

_COPIES = (
    CopyKind.HOST_TO_HOST,
    CopyKind.HOST_TO_DEVICE,
    CopyKind.DEVICE_TO_HOST,
    CopyKind.DEVICE_TO_DEVICE,
)


class _GoneError(Exception):
    """A process has closed its connection."""


@dataclass
class _Connection:
    """A process of the program, and its end of the socket."""

    device: VirtualGpu
    socket: socket.socket
    process: Process = field(init=False)

    def __post_init__(self) -> None:
        self.process = Process(watch=self._check_open)

    def _check_open(self) -> None:
        """_GoneError where the process has ended while it waited for an answer."""
        if self._next_byte() == b"":
            raise _GoneError

    def has_request(self) -> bool:
        """Whether the process has asked for something that is not served yet."""
        return bool(self._next_byte())

    def _next_byte(self) -> bytes | None:
        """What comes next: None where nothing has come yet, nothing where the process is gone."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def greet(self) -> None:
        """Hand over the file of the memory."""
        files = array.array("i", [self.device.memory.file])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)]
        self.socket.sendmsg([b"\0"], rights)

    def serve(self) -> None:
        """Reply one request. _GoneError where the process is gone."""
        kind, _, size = _REQUEST.unpack(self._received(_REQUEST.size))
        data = self._received(size)
        request, asked_s = Request(kind), self.process.clock.now_s
        try:
            status, answer = self._answer(request, data)
        except KernelcastError as error:
            status, answer = code_of(error), b""
            if status not in (Code.SYMBOL_NOT_FOUND,):
                self.device.say(f"{status.title}: {error}")
        self._note_host(request, self.process.clock.now_s - asked_s)
        if kind >= Request.COPIED:
            return
        try:
            self.socket.sendall(_REPLY.pack(status, 0, len(answer)) + answer)
        except OSError:
            raise _GoneError from None

    def _note_host(self, request: Request, waited_s: float) -> None:
        """Count a call of the host, and how long it waited in it."""
        host = self.device.record.host
        if request is Request.COPY_DONE:
            host[HostCall.COPY].waited_s += waited_s
        elif request in _HOST_CALLS:
            host[_HOST_CALLS[request]].count += 1
            host[_HOST_CALLS[request]].waited_s += waited_s

    def _received(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self.socket.recv(min(size - len(parts), 1 << 20))
            except ConnectionError:
                part = b""
            if not part:
                raise _GoneError
            parts += part
        return bytes(parts)

    def _answer(self, kind: Request, data: bytes) -> Reply:
        device, process = self.device, self.process
        match kind:
            case Request.HELLO:
                device.record.processes += 1
                return Code.SUCCESS, device.describe()
            case Request.ALLOCATE:
                size, memory_kind, _ = struct.unpack("<QII", data)
                return device.allocate(process, size, memory_kind)
            case Request.FREE:
                return device.free(*struct.unpack("<Q", data))
            case Request.MEMORY_INFO:
                return device.memory_info()
            case Request.LOAD_MODULE:
                return device.load(process, data)
            case Request.GET_FUNCTION | Request.GET_VARIABLE:
                find = device.function if kind is Request.GET_FUNCTION else device.variable
                return find(process, _number(data), data[4:].decode())
            case Request.LAUNCH:
                return device.launch(process, data)
            case Request.OCCUPANCY:
                return device.occupancy(process, *struct.unpack("<IiQi4x", data))
            case Request.ELAPSED:
                seconds = process.clock.between(*struct.unpack("<QQ", data))
                if seconds is None:
                    return Code.INVALID_RESOURCE_HANDLE, b""
                return Code.SUCCESS, struct.pack("<d", seconds)
            case Request.NEW_TEXTURE:
                return device.texture(process, data)
            case _:
                self._note(kind, data)
                return Code.SUCCESS, b""

    def _note(self, kind: Request, data: bytes) -> None:
        """What needs no answer."""
        device, clock = self.device, self.process.clock
        if kind in (Request.COPIED, Request.FILLED):
            stream, direction, *rows = struct.unpack("<6Q", data)
            transfer = CopyKind.FILL if kind is Request.FILLED else _COPIES[direction]
            device.moved(self.process, transfer, stream, WrittenRows(*rows))
            return
        numbers = struct.unpack(f"<{len(data) // 8}Q", data)
        match kind:
            case Request.NEW_STREAM:
                clock.open(numbers[0], bool(numbers[1]))
            case Request.STREAM_WAITS:
                clock.wait(*numbers)
            case Request.FREE_STREAM:
                clock.close(*numbers)
            case Request.RECORD:
                clock.record(*numbers)
            case Request.SYNCHRONIZE | Request.COPY_DONE:
                clock.synchronize(*numbers)
            case Request.SYNCHRONIZE_EVENT:
                clock.synchronize_event(*numbers)
            case Request.FREE_TEXTURE:
                self.process.textures.pop(numbers[0], None)


def _number(data: bytes) -> int:
    return int.from_bytes(data[:4], "little")


def run_program(
    device: VirtualGpu,
    command: Sequence[str],
    libraries: Path,
    *,
    image: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output: IO[bytes] | int | None = None,
    errors: IO[bytes] | int | None = None,
) -> int:
    """Run a program on the device until it ends; its exit status, 128 and more for a signal.

    `libraries` is the folder of those that the program is to load. The program is `image` where
    there is one, else what the command's first word names. `output` and `errors` are where its
    standard output and error go, `folder` where it runs. InputError where it cannot be started.
    When this is interrupted, the program ends.
    """
    name = f"kernelcast-{os.getpid()}-{secrets.token_hex(8)}"
    held = dict(os.environ if environment is None else environment)
    paths = [str(libraries), held.get("LD_LIBRARY_PATH", "")]
    held["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))
    held["LD_PRELOAD"] = ":".join(filter(None, [*_runtimes(libraries), held.get("LD_PRELOAD", "")]))
    held[_SOCKET_VARIABLE] = name
    held["TRITON_LIBCUDA_PATH"] = str(libraries)  # Triton looks for the driver by itself
    with socket.socket(socket.AF_UNIX) as listening, selectors.DefaultSelector() as selector:
        listening.bind(f"\0{name}")
        listening.listen()
        selector.register(listening, selectors.EVENT_READ)
        program = None
        try:
            with _interrupts_afterwards():
                program = _started(
                    list(command), image, env=held, cwd=folder, stdout=output, stderr=errors
                )
            _serve_until_end(device, program, listening, selector)
        except BaseException:
            if program is not None:
                _end(program)
            raise
    return program.returncode if program.returncode >= 0 else 128 - program.returncode


def _runtimes(libraries: Path) -> list[str]:
    """The runtimes that are there before a program looks for them where its own wheels are, as
    PyTorch does; none where the folder has a name that the system would split."""
    found = [str(path) for path in sorted(libraries.glob("libcudart.so.*"))]
    return [] if any(sign in str(libraries) for sign in " :") else found


def _started(
    command: list[str],
    image: bytes | None,
    **how: Any,
) -> subprocess.Popen[bytes]:
    """A program that has begun; `how` is what `subprocess.Popen` takes."""
    try:
        if image is None:
            return subprocess.Popen(command, **how)
        # A file without a name, as whoever is killed deletes none.
        with os.fdopen(os.memfd_create("program", os.MFD_CLOEXEC), "wb") as file:
            file.write(image)
            file.flush()
            executable = f"/proc/{os.getpid()}/fd/{file.fileno()}"
            return subprocess.Popen(command, executable=executable, **how)
    except OSError as error:
        raise InputError(
            f"cannot be started: {error.strerror or error}",
            where=command[0],
            hint="give a program that the system can run",
        ) from error


@contextlib.contextmanager
def _interrupts_afterwards() -> Iterator[None]:
    """An interrupt that comes meanwhile comes at the end, when there is a program to be ended."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # no interrupt is handled here
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def _serve_until_end(
    device: VirtualGpu,
    program: subprocess.Popen[bytes],
    listening: socket.socket,
    selector: selectors.BaseSelector,
) -> None:
    """Accept processes and answer them as long as the program runs."""
    ended = os.pidfd_open(program.pid)
    selector.register(ended, selectors.EVENT_READ)
    try:
        while program.poll() is None:
            for key, _ in selector.select():
                if key.fileobj is listening:
                    _accept(device, listening, selector)
                elif isinstance(key.data, _Connection):
                    _serve(key.data, selector)
        _serve_the_rest(selector)
    finally:
        os.close(ended)
        for key in list(selector.get_map().values()):
            if isinstance(key.data, _Connection):
                _close(key.data, selector)


def _serve_the_rest(selector: selectors.BaseSelector) -> None:
    """Answer what processes asked for before the program ended."""
    for key in list(selector.get_map().values()):
        while key.fd in selector.get_map() and isinstance(key.data, _Connection):
            if not key.data.has_request():
                break
            _serve(key.data, selector)


def _accept(device: VirtualGpu, listening: socket.socket, selector: selectors.BaseSelector) -> None:
    """Take a process of the same user."""
    accepted, _ = listening.accept()
    who = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    if _CREDENTIALS.unpack(who)[1] != os.getuid():
        accepted.close()
        return
    connection = _Connection(device, accepted)
    connection.greet()
    selector.register(accepted, selectors.EVENT_READ, connection)


def _serve(connection: _Connection, selector: selectors.BaseSelector) -> None:
    try:
        connection.serve()
    except _GoneError:
        _close(connection, selector)


def _close(connection: _Connection, selector: selectors.BaseSelector) -> None:
    selector.unregister(connection.socket)
    connection.device.leave(connection.process)
    connection.socket.close()


def _end(program: subprocess.Popen[bytes]) -> None:
    """Ask a program to end, and make it."""
    with contextlib.suppress(ProcessLookupError):
        program.send_signal(signal.SIGINT)
    try:
        program.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
