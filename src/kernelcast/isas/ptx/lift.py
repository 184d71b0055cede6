"""Reads an instruction of PTX that is given in steps: one that executors do not know themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelcast.ir import Address, Guard, Location, Operand, Register
from kernelcast.isas.ptx.opcodes import Form
from kernelcast.isas.ptx.steps import Steps


class UnknownFormError(Exception):
    """This form of the instruction has no meaning here."""


class PtxLift(Steps):
    """The steps of one instruction of PTX as they are written.

    Attributes
    ----------
    modifiers:
        Its modifiers.
    operands:
        Its operands that have not been taken yet.
    cluster_blocks:
        How many blocks a cluster has.
    """

    def __init__(
        self,
        index: int,
        form: Form,
        operands: Sequence[Operand],
        guard: Guard | None,
        line: int,
        location: Location | None,
        cluster_blocks: int = 1,
    ) -> None:
        super().__init__(index, guard, line, location)
        self.cluster_blocks = cluster_blocks
        self.modifiers = form.modifiers
        self.operands = list(operands)

    def refuse(self) -> UnknownFormError:
        """The error for a form that has no meaning here."""
        return UnknownFormError()

    def only(self, *modifiers: str) -> None:
        """Refuse every modifier but these."""
        if not set(self.modifiers) <= set(modifiers):
            raise self.refuse()

    def take(self) -> Operand:
        """The next operand."""
        if not self.operands:
            raise self.refuse()
        return self.operands.pop(0)

    def take_address(self) -> Address:
        """The next operand, an address."""
        operand = self.take()
        if not isinstance(operand, Address):
            raise self.refuse()
        return operand

    def shared_address(self, address: Address, *, is_shared: bool) -> Address:
        """An address in shared memory; a generic one is made one of it."""
        if is_shared:
            return address
        if not isinstance(address.base, Register):
            raise self.refuse()
        return Address(self.let("cvta.to.shared.u64", address.base), address.offset)

    def done(self) -> None:
        """Refuse operands that have not been taken."""
        if self.operands:
            raise self.refuse()


PtxMeaning = Callable[[PtxLift], None]
