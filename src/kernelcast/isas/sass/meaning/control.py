"""Branches, calls, exits and barriers."""

from __future__ import annotations

from kernelcast.ir import BlockRef, Guard, Immediate, Operand, Register
from kernelcast.isas.masks import ALL_LANES
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.flow import FAILED_ASSERTION, branch_targets, call_targets
from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES
from kernelcast.isas.sass.meaning.lift import GROUP, SassLift

_BARRIER_COUNT = Register("BARRIER.COUNT", "b32")
_BARRIER_VERDICT = Register("BARRIER.VERDICT", "pred")
"""Where the result of a reducing barrier waits to be fetched."""


def nothing(x: SassLift) -> None:
    """Hints, fences, waits for scoreboards, and the convergence barriers, which hold by the order
    of the basic blocks."""


def _pause(x: SassLift) -> None:
    """`YIELD`, `NANOSLEEP`: the code waits for what other warps do, so these run first."""
    x.do("pause", guard=x.guard)


def _reconverge(x: SassLift) -> None:
    """`WARPSYNC mask`: the lanes of the mask go on together; `.ALL`, or no mask, means all.

    `.EXCLUSIVE` lets lanes with different masks go on one group after the other until they meet
    again, so that what follows sees its own group.
    """
    mask = Immediate((1 << 32) - 1) if x.has("ALL") or not x.operands else x.b32(x.take())
    x.do("bar.warp.sync", mask, guard=x.guard)
    if x.has("EXCLUSIVE"):
        x.do("mov.b32", GROUP, mask, guard=x.guard)


def _save_convergence(x: SassLift) -> None:
    """`BMOV d, Bn` and `BMOV Bn, a`: these barriers hold no lanes, so any number does."""
    target = x.take()
    if isinstance(target, sass.RegisterOperand) and target.register.file in (
        sass.RegisterFile.GENERAL,
        sass.RegisterFile.UNIFORM,
    ):
        x.write(target, Immediate(0))


def _branch(x: SassLift) -> None:
    """`BRA label`, in the lanes in which the guard and a printed predicate hold.

    `.CONV` branches where these lanes are those of a mask, `.DIV` branches in all lanes where they
    are not.
    """
    guard = x.guard
    if x.has("DIV", "CONV"):
        guard = _mask_test(x)
    while x.takes_predicate():
        guard = x.both(guard, x.predicate(x.take()))
    x.do("bra", _target(x, x.take()), guard=guard)


def _mask_test(x: SassLift) -> Guard:
    """Whether the lanes in which the guard holds are those of a mask, or differ from it; all lanes
    where none is given."""
    expected: Operand = Immediate((1 << 32) - 1)
    if not isinstance(x.operands[0], sass.LabelOperand):
        expected = x.u32(x.take())
    lanes = x.let("activemask.b32")
    if x.guard is not None:
        holds = x.both(x.guard, Immediate(1)).register
        lanes = x.let("vote.sync.ballot.b32", holds, ALL_LANES)
    if x.has("DIV"):
        return x.both(None, x.let("setp.ne.u32", lanes, expected))
    return x.both(x.guard, x.let("setp.eq.u32", lanes, expected))


def _target(x: SassLift, operand: sass.SassOperand) -> BlockRef:
    match operand:
        case sass.LabelOperand(name):
            function = x.code.function
            address = function.labels.get(name, function.functions.get(name))
        case sass.IntegerOperand(value):
            address = value
        case _:
            address = None
    if address is None or address not in x.code.block_at:
        raise x.refuse(f"target {operand}")
    return BlockRef(x.code.block_at[address])


def _leave(x: SassLift) -> None:
    """`EXIT`: the lanes end."""
    guard = x.guard
    while x.takes_predicate():
        guard = x.both(guard, x.predicate(x.take()))
    x.do("exit", guard=guard)


def _call(x: SassLift) -> None:
    """`CALL.REL label`: a jump; the return address is in registers already.

    The target of an indirect call is one of the functions of the section.
    """
    operand = x.take()
    if isinstance(operand, sass.LabelOperand):
        is_there = operand.name in x.code.function.functions
        if operand.name == FAILED_ASSERTION and not is_there:
            x.do("trap", guard=x.guard)
        else:
            x.do("bra", _target(x, operand), guard=x.guard)
        return
    starts = [a for a in call_targets(x.native, x.code.function) if a in x.code.block_at]
    if isinstance(operand, sass.IndirectOperand):
        _go_to_address(x, _indirect_address(x, operand), tuple(starts))
    elif isinstance(operand, sass.RegisterOperand) and x.has("ABS"):
        # A function of the system, whose address is a word of a constant bank; it is zero for
        # those that nothing stands in for.
        if not starts:
            x.do("trap", guard=x.guard)
            return
        _go_to_address(x, x.b32(operand), tuple(starts))
    else:
        raise x.refuse(f"call of {operand}")


def _stop(x: SassLift) -> None:
    """`BPT.TRAP n`: the kernel ends with an error."""
    x.only("TRAP")
    x.do("trap", guard=x.guard)


def _load_place(x: SassLift) -> None:
    """`LEPC d, label`: the address of an instruction, its own where none is named, from which
    follows where a function of the system returns to."""
    target, place = x.take(), x.native.address
    if x.operands:
        operand = x.take()
        labels = x.code.function.labels
        if not isinstance(operand, sass.LabelOperand) or operand.name not in labels:
            raise x.refuse(f"operand {operand}")
        place = labels[operand.name]
    x.write64(target, Immediate(place))


def _indexed_branch(x: SassLift) -> None:
    """`BRX Rn offset`, `BRXU`: to the next instruction's address plus the offset plus Rn, which
    comes out of a table."""
    operand = x.take()
    if not isinstance(operand, sass.IndirectOperand):
        raise x.refuse(f"operand {operand}")
    targets = tuple(branch_targets(x.native, x.code.function))
    if not targets or not all(t in x.code.block_at for t in targets):
        raise x.refuse("targets that the listing does not name")
    _go_to_address(x, _indirect_address(x, operand), targets)


def _leave_function(x: SassLift) -> None:
    """`RET.REL Rn function`: to the function's start plus Rn, which is behind some call."""
    operand = x.take()
    if not isinstance(operand, sass.IndirectOperand):
        raise x.refuse(f"operand {operand}")
    _go_to_address(x, _indirect_address(x, operand), x.code.returns)


def _indirect_address(x: SassLift, operand: sass.IndirectOperand) -> Operand:
    """The low word of a register pair plus where its base lies: sections are smaller than 4 GiB."""
    words = x.words(operand.register, 1)
    low: Operand = Immediate(0) if words is None else words[0]
    base = operand.base
    if isinstance(base, sass.LabelOperand):
        function = x.code.function
        start = function.functions.get(base.name, function.labels.get(base.name))
        if start is None:
            raise x.refuse(f"target {base}")
        return x.let("add.u32", low, Immediate(start)) if start else low
    if isinstance(base, sass.IntegerOperand):
        start = 0 if x.has("ABS") else x.native.address + INSTRUCTION_BYTES
        return x.let("add.u32", low, Immediate(start + base.value))
    raise x.refuse(f"target {base}")


def _go_to_address(x: SassLift, address: Operand, targets: tuple[int, ...]) -> None:
    """A jump to the one of `targets` that `address` equals; to none is a fault."""
    if not targets:
        raise x.refuse("a return without a call")
    number: Operand = Immediate(len(targets))
    for at, target in enumerate(targets):
        equal = x.let("setp.eq.u32", address, Immediate(target))
        number = x.let("selp.u32", Immediate(at), number, equal)
    blocks = [BlockRef(x.code.block_at[target]) for target in targets]
    x.do("brx.idx", number, *blocks, guard=x.guard)


def _barrier(x: SassLift) -> None:
    """`BAR.SYNC n, count`, `BAR.ARV`, and `BAR.RED` with its predicate.

    In the form with registers one register holds the number in bits 0-3 and the count in bits
    16-27.
    """
    number = x.take()
    operands: list[Operand]
    if isinstance(number, sass.RegisterOperand):
        packed = x.b32(number)
        operands = [x.let("and.b32", packed, Immediate(0xF))]
        if x.operands:
            count = x.let("shr.u32", x.b32(x.take()), Immediate(16))
            operands.append(x.let("and.b32", count, Immediate(0xFFF)))
    else:
        operands = [x.b32(number)]
        if x.operands and not x.takes_predicate():
            operands.append(x.b32(x.take()))
    if x.has("RED"):
        _reducing_barrier(x, operands)
    else:
        x.do("bar.arrive" if x.has("ARV") else "bar.sync", *operands, guard=x.guard)


def _reducing_barrier(x: SassLift, operands: list[Operand]) -> None:
    condition = x.predicate(x.take())
    if isinstance(condition, Immediate):
        condition = x.let("mov.pred", condition)
    if x.has("POPC"):
        x.do("bar.red.popc.u32", _BARRIER_COUNT, *operands, condition, guard=x.guard)
    elif x.has("AND", "OR"):
        kind = "and" if x.has("AND") else "or"
        x.do(f"bar.red.{kind}.pred", _BARRIER_VERDICT, *operands, condition, guard=x.guard)
    else:
        raise x.refuse()


def _barrier_result(x: SassLift) -> None:
    """`B2R.RESULT d, P`: what the last reducing barrier found."""
    if not x.has("RESULT"):
        raise x.refuse()
    target = x.take()
    if x.operands:
        x.write(x.take(), _BARRIER_VERDICT)
    if x.destination(target) is not None:
        x.write(target, _BARRIER_COUNT)


def _arrive_at_cluster(x: SassLift) -> None:
    """`UCGABAR_ARV`: the warp arrives at the barrier of the cluster."""
    x.do("barrier.cluster.arrive", guard=x.guard)


def _wait_for_cluster(x: SassLift) -> None:
    """`UCGABAR_WAIT`: the warp waits there."""
    x.do("barrier.cluster.wait", guard=x.guard)


def _set_registers(x: SassLift) -> None:
    """`USETMAXREG.TRY_ALLOC UP, n` and `.DEALLOC n`: warps of a warp group hand registers on. There
    are always enough here, so that the predicate, whether they were had, is true at once."""
    if x.has("TRY_ALLOC"):
        x.write(x.take(), Immediate(1))
    elif not x.has("DEALLOC"):
        raise x.refuse()
    x.u32(x.take())


MEANINGS = {
    **dict.fromkeys(
        (
            *("NOP", "BSSY", "BSYNC", "BREAK", "ENDCOLLECTIVE"),
            *("DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL", "FENCE"),
            *("PREEXIT", "ACQBULK"),
        ),
        nothing,
    ),
    **dict.fromkeys(("YIELD", "NANOSLEEP"), _pause),
    "WARPSYNC": _reconverge,
    "BRA": _branch,
    "EXIT": _leave,
    "CALL": _call,
    "BPT": _stop,
    "LEPC": _load_place,
    "RET": _leave_function,
    **dict.fromkeys(("BRX", "BRXU"), _indexed_branch),
    "BAR": _barrier,
    "UCGABAR_ARV": _arrive_at_cluster,
    "UCGABAR_WAIT": _wait_for_cluster,
    "B2R": _barrier_result,
    "USETMAXREG": _set_registers,
    "BMOV": _save_convergence,
}
