"""Address checks, the log of accesses, and loads and stores of a warp: the same for every ISA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kernelcast.execution.address_map import WINDOW_BYTES
from kernelcast.execution.engine.context import Slot
from kernelcast.execution.engine.lowering import Lowering, record_header
from kernelcast.execution.engine.values import Value, vector
from kernelcast.execution.trace import RECORD_WORDS, RecordKind
from kernelcast.ir import Space
from kernelcast.ir.sizes import WARP_LANES

_WINDOWS = (Space.SHARED, Space.LOCAL, Space.PARAM)
"""Spaces of which a warp has a window of its own, at addresses from 0 on."""


@dataclass(frozen=True, slots=True)
class Access:
    """A checked and logged access: where each lane goes on the host.

    `lanes` are those that access, as scalar mask `mask` and per lane. `first_host` is the host
    address of lane 0, meaningful where the scalar i1 `is_contiguous` holds.
    """

    hosts: Value
    lanes: Value
    mask: str
    first_host: str
    is_contiguous: str


@dataclass(frozen=True, slots=True)
class _Affine:
    """Address of lane 0, stride to lane 1, and whether the active lanes go on so (scalar i1)."""

    base: str
    stride: str
    holds: str


def access(
    lw: Lowering,
    address: Value,
    space: Space,
    size_bytes: int,
    *,
    writes: bool,
    lanes: Value,
    body: Callable[[Access], None],
    logs: bool = True,
) -> None:
    """Check and log an access of `size_bytes` per lane, then emit `body` for it.

    Nothing happens at run time where no lane takes part.
    """
    b = lw.b
    with where_some(lw, lanes) as mask:
        affine = _affine(lw, address, mask)
        hosts, fast = _hosts(lw, address, space, size_bytes, writes, mask)
        if logs:
            _log(lw, address, mask, affine)
        steps_by_size = b.scalar(f"icmp eq i64 {affine.stride}, {size_bytes}")
        contiguous = b.scalar(f"and i1 {affine.holds}, {steps_by_size}")
        contiguous = b.scalar(f"and i1 {contiguous}, {fast}")
        first = b.scalar(f"extractelement {vector('i64')} {hosts.text}, i32 0")
        body(Access(hosts, lanes, mask, first, contiguous))


def locate(
    lw: Lowering, address: Value, space: Space, size_bytes: int, *, writes: bool, lanes: Value
) -> None:
    """Check and log an access, and leave memory alone."""
    with where_some(lw, lanes) as mask:
        affine = _affine(lw, address, mask)
        if space in _WINDOWS:
            _check_window(lw, address, space, size_bytes, mask)
        else:
            fine = _search_where_unexpected(lw, address, space, size_bytes, writes, mask)
            lw.b.line(f"br label %{fine}")
            lw.b.label(fine)
        _log(lw, address, mask, affine)


@contextmanager
def where_some(lw: Lowering, lanes: Value) -> Iterator[str]:
    """What is emitted inside happens where a lane takes part; gives their mask."""
    b = lw.b
    if lanes is lw.active:
        yield lw.mask
        return
    some, done = b.fresh("some"), b.fresh("done")
    mask = b.mask_of(lanes)
    b.line(f"br i1 {b.scalar(f'icmp eq i32 {mask}, 0')}, label %{done}, label %{some}")
    b.label(some)
    yield mask
    b.line(f"br label %{done}")
    b.label(done)


def _affine(lw: Lowering, address: Value, mask: str) -> _Affine:
    """How the active lanes follow the address of lane 0 and the stride to lane 1."""
    b = lw.b
    kind = vector("i64")
    base = b.scalar(f"extractelement {kind} {address.text}, i32 0")
    second = b.scalar(f"extractelement {kind} {address.text}, i32 1")
    stride = b.scalar(f"sub i64 {second}, {base}")
    steps = b.binary("mul", b.splat(stride, "i64"), b.lane_numbers("i64"))
    expected = b.binary("add", b.splat(base, "i64"), steps)
    differs = b.mask_of(b.compare("ne", expected, address))
    wrong = b.scalar(f"and i32 {differs}, {mask}")
    holds = b.scalar(f"icmp eq i32 {wrong}, 0")
    return _Affine(base, stride, holds)


def _log(lw: Lowering, address: Value, mask: str, affine: _Affine) -> None:
    """Write the shortest record that the active lanes allow, where anybody follows."""
    if not lw.logs:
        return
    b = lw.b
    position = lw.log_position()
    short, uneven, logged = (b.fresh(n) for n in ("affine", "uneven", "logged"))
    b.line(f"br i1 {affine.holds}, label %{short}, label %{uneven}")
    b.label(short)
    _write_record(lw, position, RecordKind.AFFINE, mask, affine.base, affine.stride)
    b.line(f"br label %{logged}")
    b.label(uneven)
    bytes_of_others = b.scalar(
        f"call i64 @log_uneven(i64 {position}, {vector('i64')} {address.text}, i32 {mask}, "
        f"i64 {lw.position})"
    )
    b.line(f"br label %{logged}")
    b.label(logged)
    bytes_of_affine = 8 * RECORD_WORDS[RecordKind.AFFINE]
    size = b.scalar(f"phi i64 [ {bytes_of_affine}, %{short} ], [ {bytes_of_others}, %{uneven} ]")
    lw.advance_log(b.scalar(f"add i64 {position}, {size}"))


def _write_record(lw: Lowering, position: str, kind: RecordKind, mask: str, *words: str) -> None:
    b = lw.b
    wide = b.scalar(f"zext i32 {mask} to i64")
    header = b.scalar(f"or i64 {wide}, {record_header(kind, lw.position)}")
    start = b.scalar(f"inttoptr i64 {position} to ptr")
    for number, word in enumerate((header, *words)):
        at = b.scalar(f"getelementptr i64, ptr {start}, i64 {number}")
        b.line(f"store i64 {word}, ptr {at}")


def log_values(lw: Lowering, values: str, mask: str) -> None:
    """Write how many different values the lanes of a mask hold, where anybody follows."""
    if lw.logs:
        position = lw.log_position()
        _write_record(lw, position, RecordKind.VALUES, mask, values)
        size = 8 * RECORD_WORDS[RecordKind.VALUES]
        lw.advance_log(lw.b.scalar(f"add i64 {position}, {size}"))


def _hosts(
    lw: Lowering, address: Value, space: Space, size_bytes: int, writes: bool, mask: str
) -> tuple[Value, str]:
    """Host addresses of a checked access, and whether they mirror the device's (scalar i1)."""
    if space in _WINDOWS:
        hosts = _check_window(lw, address, space, size_bytes, mask)
        return hosts, "true" if space is Space.SHARED else "false"
    b = lw.b
    fast = _search_where_unexpected(lw, address, space, size_bytes, writes, mask)
    found = b.value("i64", f"load {vector('i64')}, ptr %hosts, align 64")
    slow, join = b.fresh("slow"), b.fresh("join")
    b.line(f"br label %{slow}")
    b.label(slow)
    b.line(f"br label %{join}")
    b.label(fast)
    delta = b.splat(lw.slot(Slot.GLOBAL_DELTA), "i64")
    mirrored = b.binary("add", address, delta)
    b.line(f"br label %{join}")
    b.label(join)
    hosts = b.value(
        "i64", f"phi {vector('i64')} [ {mirrored.text}, %{fast} ], [ {found.text}, %{slow} ]"
    )
    return hosts, b.scalar(f"phi i1 [ true, %{fast} ], [ false, %{slow} ]")


def _bad_lanes(lw: Lowering, offset: Value, limit: str, size_bytes: int, mask: str) -> str:
    """Lanes whose offset is misaligned or beyond `limit`, the last offset allowed.

    Rotating the alignment bits to the top makes one comparison find both.
    """
    b = lw.b
    shift = (size_bytes & -size_bytes).bit_length() - 1
    if shift:
        amount = b.constant("i64", shift)
        offset = b.lanewise("fshr", "i64", offset, offset, amount)
        limit = b.scalar(f"lshr i64 {limit}, {shift}")
    beyond = b.mask_of(b.compare("ugt", offset, b.splat(limit, "i64")))
    return b.scalar(f"and i32 {beyond}, {mask}")


def _check_window(lw: Lowering, address: Value, space: Space, size_bytes: int, mask: str) -> Value:
    b = lw.b
    if lw.is_clustered and space is Space.SHARED:
        return _check_cluster(lw, address, size_bytes, mask)
    base_slot, bytes_slot = {
        Space.SHARED: (Slot.SHARED, Slot.SHARED_BYTES),
        Space.LOCAL: (Slot.LOCAL, Slot.LOCAL_BYTES),
        Space.PARAM: (Slot.PARAM, Slot.PARAM_BYTES),
    }[space]
    available = lw.slot(bytes_slot)
    too_small = b.scalar(f"icmp ult i64 {available}, {size_bytes}")
    limit = b.scalar(f"sub i64 {available}, {size_bytes}")
    bad = _bad_lanes(lw, address, limit, size_bytes, mask)
    _stop_at(lw, address, b.scalar(f"select i1 {too_small}, i32 {mask}, i32 {bad}"), size_bytes)
    base = b.splat(lw.slot(base_slot), "i64")
    hosts = b.binary("add", address, base)
    if space is Space.LOCAL:
        steps = b.binary("mul", b.splat(available, "i64"), b.lane_numbers("i64"))
        hosts = b.binary("add", hosts, steps)
    return hosts


def _check_cluster(lw: Lowering, address: Value, size_bytes: int, mask: str) -> Value:
    """Shared memory of the block of a cluster whose rank the address names."""
    b = lw.b
    available = lw.slot(Slot.SHARED_BYTES)
    too_small = b.scalar(f"icmp ult i64 {available}, {size_bytes}")
    limit = b.scalar(f"sub i64 {available}, {size_bytes}")
    offset = b.binary("and", address, b.constant("i64", WINDOW_BYTES - 1))
    bad = _bad_lanes(lw, offset, limit, size_bytes, mask)
    bad = b.scalar(f"select i1 {too_small}, i32 {mask}, i32 {bad}")
    end = b.splat(b.scalar(f"mul i64 {lw.slot(Slot.CLUSTER_BLOCKS)}, {WINDOW_BYTES}"), "i64")
    outside = b.mask_of(b.compare("uge", address, end))
    outside = b.scalar(f"and i32 {outside}, {mask}")
    _stop_at(lw, address, b.scalar(f"or i32 {bad}, {outside}"), size_bytes)
    return b.binary("add", address, b.splat(lw.slot(Slot.SHARED_OF_CLUSTER), "i64"))


def _stop_at(lw: Lowering, address: Value, bad: str, size_bytes: int) -> None:
    """Stop where a lane of a mask accesses what it must not."""
    b = lw.b
    is_bad = b.scalar(f"icmp ne i32 {bad}, 0")
    fault, fine = b.fresh("fault"), b.fresh("go")
    b.line(f"br i1 {is_bad}, label %{fault}, label %{fine}, !prof !0")
    b.label(fault)
    b.line(
        f"call void @note_fault(ptr %ctx, {vector('i64')} {address.text}, i32 {bad}, "
        f"i64 {lw.position}, i64 {size_bytes - 1})"
    )
    b.line("br label %stopped")
    b.label(fine)


def _search_where_unexpected(
    lw: Lowering, address: Value, space: Space, size_bytes: int, writes: bool, mask: str
) -> str:
    """Go to the label returned where all lanes hit the array that this instruction hit last.

    Elsewhere all arrays are searched; what follows is for accesses found there, whose hosts lie in
    `%hosts`.
    """
    b = lw.b
    guesses = lw.slot(Slot.GUESSES, "ptr")
    guess = b.scalar(f"getelementptr i64, ptr {guesses}, i64 {2 * lw.position}")
    first = b.scalar(f"load i64, ptr {guess}")
    size_pointer = b.scalar(f"getelementptr i64, ptr {guess}, i64 1")
    size = b.scalar(f"load i64, ptr {size_pointer}")
    limit = b.scalar(f"sub i64 {size}, {size_bytes}")
    offset = b.binary("sub", address, b.splat(first, "i64"))
    bad = _bad_lanes(lw, offset, limit, size_bytes, mask)
    fast, slow = b.fresh("fast"), b.fresh("slow")
    hit = b.scalar(f"icmp eq i32 {bad}, 0")
    b.line(f"br i1 {hit}, label %{fast}, label %{slow}")
    b.label(slow)
    b.line(f"store {vector('i64')} {address.text}, ptr %addresses, align 64")
    failed = b.scalar(
        f"call i32 @resolve(ptr %ctx, i64 {lw.position}, i32 {mask}, ptr %addresses, ptr %hosts, "
        f"i64 {size_bytes}, i32 {int(writes)}, i32 {int(space is Space.GENERIC)})"
    )
    lw.stop_if(b.scalar(f"icmp ne i32 {failed}, 0"))
    return fast


def load(lw: Lowering, at: Access, element: str, offset_bytes: int, whole: bool) -> Value:
    """Load one integer element per lane; `whole` if it is all that the access moves."""
    b = lw.b
    kind = vector(element)
    size = Value("", element).bits // 8
    if not whole:
        return _gather(lw, at, element, offset_bytes)
    contiguous, scattered, join = b.fresh("contiguous"), b.fresh("gather"), b.fresh("join")
    b.line(f"br i1 {at.is_contiguous}, label %{contiguous}, label %{scattered}")
    b.label(contiguous)
    pointer = b.scalar(f"inttoptr i64 {at.first_host} to ptr")
    name = f"llvm.masked.load.v{WARP_LANES}{element}.p0"
    near = b.call(
        name,
        kind,
        [
            ("ptr", pointer),
            ("i32", str(size)),
            (vector("i1"), at.lanes.text),
            (kind, "zeroinitializer"),
        ],
    )
    b.line(f"br label %{join}")
    b.label(scattered)
    far = _gather(lw, at, element, offset_bytes)
    far_end = b.fresh("gathered")
    b.line(f"br label %{far_end}")
    b.label(far_end)
    b.line(f"br label %{join}")
    b.label(join)
    return b.value(element, f"phi {kind} [ {near}, %{contiguous} ], [ {far.text}, %{far_end} ]")


def _pointers(lw: Lowering, at: Access, offset_bytes: int) -> str:
    b = lw.b
    hosts = at.hosts
    if offset_bytes:
        hosts = b.binary("add", hosts, b.constant("i64", offset_bytes))
    return b.scalar(f"inttoptr {vector('i64')} {hosts.text} to {vector('ptr')}")


def _gather(lw: Lowering, at: Access, element: str, offset_bytes: int) -> Value:
    b = lw.b
    kind = vector(element)
    name = f"llvm.masked.gather.v{WARP_LANES}{element}.v{WARP_LANES}p0"
    text = b.call(
        name,
        kind,
        [
            (vector("ptr"), _pointers(lw, at, offset_bytes)),
            ("i32", str(Value("", element).bits // 8)),
            (vector("i1"), at.lanes.text),
            (kind, "zeroinitializer"),
        ],
    )
    return Value(text, element)


def store(lw: Lowering, at: Access, value: Value, offset_bytes: int, whole: bool) -> None:
    """Store one integer element per lane; `whole` if it is all that the access moves."""
    b = lw.b
    if not whole:
        _scatter(lw, at, value, offset_bytes)
        return
    contiguous, scattered, join = b.fresh("contiguous"), b.fresh("scatter"), b.fresh("join")
    b.line(f"br i1 {at.is_contiguous}, label %{contiguous}, label %{scattered}")
    b.label(contiguous)
    pointer = b.scalar(f"inttoptr i64 {at.first_host} to ptr")
    b.call(
        f"llvm.masked.store.v{WARP_LANES}{value.type}.p0",
        "void",
        [
            (vector(value.type), value.text),
            ("ptr", pointer),
            ("i32", str(value.bits // 8)),
            (vector("i1"), at.lanes.text),
        ],
    )
    b.line(f"br label %{join}")
    b.label(scattered)
    _scatter(lw, at, value, offset_bytes)
    b.line(f"br label %{join}")
    b.label(join)


def _scatter(lw: Lowering, at: Access, value: Value, offset_bytes: int) -> None:
    lw.b.call(
        f"llvm.masked.scatter.v{WARP_LANES}{value.type}.v{WARP_LANES}p0",
        "void",
        [
            (vector(value.type), value.text),
            (vector("ptr"), _pointers(lw, at, offset_bytes)),
            ("i32", str(value.bits // 8)),
            (vector("i1"), at.lanes.text),
        ],
    )


def for_each_lane(lw: Lowering, mask: str, body: Callable[[str], None]) -> None:
    """A loop over the lanes of a mask in ascending order; `body` gets the lane as i32."""
    b = lw.b
    rest = b.slot("i32")
    b.line(f"store i32 {mask}, ptr {rest}")
    head, inside, done = b.fresh("lanes"), b.fresh("lane"), b.fresh("lanes_done")
    b.line(f"br label %{head}")
    b.label(head)
    left = b.scalar(f"load i32, ptr {rest}")
    none = b.scalar(f"icmp eq i32 {left}, 0")
    b.line(f"br i1 {none}, label %{done}, label %{inside}")
    b.label(inside)
    lane = b.call("llvm.cttz.i32", "i32", [("i32", left), ("i1", "false")])
    less = b.scalar(f"sub i32 {left}, 1")
    b.line(f"store i32 {b.scalar(f'and i32 {left}, {less}')}, ptr {rest}")
    body(lane)
    b.line(f"br label %{head}")
    b.label(done)
