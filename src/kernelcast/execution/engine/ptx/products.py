"""`mma` and `wgmma`: products of matrices, made by functions of the module."""

from __future__ import annotations

from kernelcast.execution.engine.context import Fault, Slot
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.products import (
    DECLARATIONS,
    Functions,
    group_function,
    warp_function,
)
from kernelcast.execution.engine.ptx.operands import PRED, guard_of, read, write
from kernelcast.execution.engine.values import Value, ptx_type, vector
from kernelcast.ir import Immediate, Instruction, Operand, Register, Vector
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.ptx.products import GROUP_WARPS, GroupProduct, group_product, warp_product


def _mma(lw: Lowering, i: Instruction) -> None:
    """The product of fragments in registers."""
    kind = warp_product(i.modifiers)
    if kind is None:
        raise lw.unsupported("this form of product")
    _target, *sources = map(_elements, i.operands)
    counts = (kind.a_registers, kind.b_registers, kind.sum_registers)
    if [len(s) for s in sources] != list(counts) or len(_target) != counts[2]:
        raise lw.unsupported("this form of product")
    name, functions = warp_function(kind)
    _add_functions(lw, functions)
    sizes = (kind.word_bytes, kind.word_bytes, kind.sum_bytes)
    places = [
        _stored(lw, place, source, size)
        for place, source, size in zip(("a", "b", "sums"), sources, sizes, strict=True)
    ]
    lw.b.line(f"call void @{name}({', '.join(f'ptr {place}' for place in places)})")
    _write_sums(lw, i, _target, places[2], kind.sum_bytes)


def _wgmma(lw: Lowering, i: Instruction) -> None:
    """The share of a warp in a product of its group; fences and waits have no effect."""
    if "mma_async" not in i.modifiers:
        return
    found = group_product(i)
    if found is None:
        raise lw.unsupported("this form of product")
    b = lw.b
    guard = guard_of(lw, i)
    mask = lw.mask if guard is None else b.mask_of(guard)
    sums = _stored(lw, "sums", _elements(found.sums), 4, keeps=_kept(lw, found.keeps, mask))
    a = "null"
    if found.a_in_registers:
        a = _stored(lw, "a", _elements(found.a), 4)
    descriptors = [
        "0" if isinstance(o, Vector) else _scalar(lw, read(lw, o, ptx_type("b64")), mask)
        for o in (found.a, found.b)
    ]
    multiply, done = b.fresh("multiply"), b.fresh("multiplied")
    none = b.scalar(f"icmp eq i32 {mask}, 0")
    b.line(f"br i1 {none}, label %{done}, label %{multiply}")
    b.label(multiply)
    _call(lw, found, a, descriptors, sums, mask)
    b.line(f"br label %{done}")
    b.label(done)
    _write_sums(lw, i, _elements(found.sums), sums, 4)


def _call(
    lw: Lowering, found: GroupProduct, a: str, descriptors: list[str], sums: str, mask: str
) -> None:
    """Call the function of a product; stop where a matrix lies outside shared memory."""
    b = lw.b
    name, functions = group_function(found)
    _add_functions(lw, functions)
    warp = b.scalar(f"and i64 {lw.slot(Slot.WARP)}, {GROUP_WARPS - 1}")
    first = b.scalar(f"mul i64 {warp}, {found.product.rows}")
    left, right = descriptors
    bad = b.scalar(
        f"call i64 @{name}(ptr {lw.slot(Slot.SHARED, 'ptr')}, i64 {lw.slot(Slot.SHARED_BYTES)}, "
        f"i64 {first}, ptr {a}, i64 {left}, i64 {right}, ptr {sums})"
    )
    fault, fine = b.fresh("fault"), b.fresh("go")
    is_bad = b.scalar(f"icmp ne i64 {bad}, -1")
    b.line(f"br i1 {is_bad}, label %{fault}, label %{fine}, !prof !0")
    b.label(fault)
    lw.fault(Fault.OUTSIDE)
    lw.set_slot(Slot.FAULT_LANE, b.scalar(f"zext i32 {_first_lane(lw, mask)} to i64"))
    lw.set_slot(Slot.FAULT_ADDRESS, bad)
    b.line("br label %stopped")
    b.label(fine)


def _add_functions(lw: Lowering, functions: Functions) -> None:
    lw.b.functions.update(functions)
    lw.b.declarations.update(DECLARATIONS)


def _elements(operand: Operand) -> tuple[Register | Immediate | None, ...]:
    if isinstance(operand, Vector):
        return operand.elements
    return (operand,) if isinstance(operand, Register | Immediate) else ()


def _stored(
    lw: Lowering,
    name: str,
    elements: tuple[Register | Immediate | None, ...],
    size_bytes: int,
    *,
    keeps: str = "",
) -> str:
    """Put registers into memory; zeros where the scalar `keeps`, if given, does not hold."""
    b = lw.b
    kind = ptx_type(f"b{8 * size_bytes}")
    whole = vector(kind.llvm)
    place = b.named_slot(f"matrix.{name}.{size_bytes}.{len(elements)}", len(elements), whole)
    for number, element in enumerate(elements):
        value = read(lw, element, kind).text
        if keeps:
            value = b.scalar(f"select i1 {keeps}, {whole} {value}, {whole} zeroinitializer")
        pointer = b.scalar(f"getelementptr {whole}, ptr {place}, i64 {number}")
        b.line(f"store {whole} {value}, ptr {pointer}, align 64")
    return place


def _write_sums(
    lw: Lowering,
    i: Instruction,
    targets: tuple[Register | Immediate | None, ...],
    place: str,
    size_bytes: int,
) -> None:
    b = lw.b
    element = f"i{8 * size_bytes}"
    whole = vector(element)
    for number, target in enumerate(targets):
        pointer = b.scalar(f"getelementptr {whole}, ptr {place}, i64 {number}")
        value = b.value(element, f"load {whole}, ptr {pointer}, align 64")
        write(lw, i, target, value)


def _kept(lw: Lowering, operand: Operand, mask: str) -> str:
    """Whether the old sums count: the predicate of the lowest active lane; empty if they do."""
    if isinstance(operand, Immediate):
        return "" if operand.value else "false"
    return _scalar(lw, read(lw, operand, PRED), mask)


def _scalar(lw: Lowering, value: Value, mask: str) -> str:
    """The value of the lowest active lane."""
    lane = _first_lane(lw, mask)
    return lw.b.scalar(f"extractelement {vector(value.type)} {value.text}, i32 {lane}")


def _first_lane(lw: Lowering, mask: str) -> str:
    lane = lw.b.call("llvm.cttz.i32", "i32", [("i32", mask), ("i1", "false")])
    return lw.b.scalar(f"and i32 {lane}, {WARP_LANES - 1}")


OPCODES = {"mma": _mma, "wgmma": _wgmma}
