"""What the names of a function hold at one of its words, as far as its text says.

A name holds what it was last given before that word; where it was changed since, or its address
was taken, what it holds is open. Loops around the word are in their first turn. A program is taken
to be called without arguments: what a name is given of them under a condition leaves what it held
before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from kernelcast.frontends.source.brackets import (
    CHANGING,
    CLOSING,
    OPENING,
    first_outside,
    matching,
    split_words,
    template_end,
)
from kernelcast.frontends.source.branches import end_of_statement
from kernelcast.frontends.source.containers import (
    CHANGES,
    CONTAINERS,
    bytes_of_elements,
    count_changed,
    count_of,
    declared_containers,
)
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme, Lexemes

_CHANGES = CHANGING | {"++", "--"}
_ALLOCATIONS = {
    "cudaMalloc": 1,
    "cudaMallocManaged": 1,
    "cudaMallocAsync": 1,
    "cudaMallocHost": 1,
    "cudaHostAlloc": 1,
}
"""Which argument of a call is the size in bytes."""
_DECLARED = frozenset({"=", ";", ",", "["})
_STARTS = frozenset({";", "{", "}", "("})
"""What may stand before a declaration."""
_ENDS = frozenset({";", "{", "}"})
"""What stands between statements."""
_ENDS_VALUE = frozenset(",;)}]<")
"""What ends a value, or, with a `<`, may hold a `,` that does not."""
_QUALIFIERS = frozenset({"const", "static", "constexpr", "volatile", "register", "struct"})
_NOT_TYPES = frozenset({"return", "else", "case", "new", "delete", "throw", "goto", "sizeof"})


@dataclass(frozen=True)
class LocalDefinitions:
    """Words of the value of every name, `values`; constructed ones, such as `dim3 g(x, y)`, are
    written `dim3(x, y)`. `bytes_of` holds the sizes that pointers were allocated with, `aliases`
    the types that local names stand for."""

    values: Mapping[str, Lexemes]
    bytes_of: Mapping[str, Lexemes]
    types: Mapping[str, str]
    aliases: Mapping[str, Lexemes]
    opened: frozenset[str]


@dataclass
class _Gathered:
    command_line: Set[str]
    depth: int = 0
    values: dict[str, Lexemes] = field(default_factory=dict)
    bytes_of: dict[str, Lexemes] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, Lexemes] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    elements: dict[str, Lexemes] = field(default_factory=dict)
    brackets: int = 0
    _declared: tuple[str, int] = ("", 0)

    def hold(self, container: str, count: Lexemes) -> None:
        """Of a container, how many elements it has: the words of `c.size()`, and its bytes."""
        self.give(f"{container}.size", count)
        self.bytes_of[container] = bytes_of_elements(count, self.elements[container])

    def declare(self, name: str, type_: str) -> None:
        """Of the type that further names behind commas have, too, in the same brackets."""
        self.types[name] = type_
        self._declared = type_.rstrip("*"), self.brackets

    @property
    def declared(self) -> str:
        type_, brackets = self._declared
        return type_ if brackets == self.brackets else ""

    def end_declaration(self) -> None:
        self._declared = "", 0

    def give(self, name: str, value: Lexemes) -> None:
        self.values[name] = value
        self.opened.discard(name)


def definitions(
    words: Sequence[Lexeme], begin: int, end: int, command_line: Set[str] = frozenset()
) -> LocalDefinitions:
    """The definitions among the words from `begin` to `end`; `command_line` names what holds the
    arguments that the program was called with."""
    found = _Gathered(command_line)
    later = _later_turns(words, begin, end)
    for at in range(begin, end):
        word = words[at]
        if at in later:
            continue
        found.depth += (word.text == "{") - (word.text == "}")
        found.brackets += (word.text in OPENING) - (word.text in CLOSING)
        if word.text == ";":
            found.end_declaration()
        if word.kind is TokenKind.NAME:
            if word.text in ("using", "typedef"):
                _alias(words, at, end, found)
            elif word.text in _ALLOCATIONS and at + 1 < end and words[at + 1].text == "(":
                _allocation(words, at, found)
            elif word.text in CONTAINERS and at + 1 < end and words[at + 1].text == "<":
                _containers(words, at + 1, found)
            else:
                _name(words, at, begin, end, found)
    opened = frozenset(found.opened)
    return LocalDefinitions(found.values, found.bytes_of, found.types, found.aliases, opened)


def _later_turns(words: Sequence[Lexeme], begin: int, end: int) -> Set[int]:
    """The words that a `for` around the word at `end` has for what comes after a turn."""
    later: set[int] = set()
    for at in range(begin, end):
        if words[at].text != "for" or words[at + 1].text != "(":
            continue
        closing = matching(words, at + 1)
        parts = split_words(words[at + 2 : closing], ";")
        if closing < end < end_of_statement(words, closing + 1) and len(parts) == 3:
            later.update(range(closing - len(parts[2]), closing))
    return later


def _name(words: Sequence[Lexeme], at: int, begin: int, end: int, found: _Gathered) -> None:
    name = words[at].text
    before = words[at - 1] if at > begin else None
    after = words[at + 1].text if at + 1 < end else ""
    if before is not None and before.text in (".", "->"):
        member = f"{words[at - 2].text}.{name}"
        if after == "=":
            found.give(member, _value(words, at + 2))
        elif after == "(" and words[at - 2].text in found.elements:
            _change_container(words, at, found)
        return
    if after in _DECLARED:
        _declare(words, at, begin, found)
    if after == "=":
        _assign(words, at, begin, found)
    elif after == "[" and (bounded := _behind_bounds(words, at + 1)):
        found.give(name, _value(words, bounded))
    elif after == "[" and _is_given_element(words, at + 1):
        found.opened.add(name)
    elif _is_changed(words, at, begin, after):
        if not _keeps_default(words, at, begin, found):
            found.opened.add(name)
    elif after in ("(", "{"):
        _construct(words, at, begin, found)


def _assign(words: Sequence[Lexeme], at: int, begin: int, found: _Gathered) -> None:
    """`name = value`; a container then has as many elements as what it is given."""
    name, value = words[at].text, _value(words, at + 2)
    if name in found.elements:
        found.hold(name, count_of(value, found.elements))
    elif not _keeps_default(words, at, begin, found):
        found.give(name, value)


def _is_changed(words: Sequence[Lexeme], at: int, begin: int, after: str) -> bool:
    """Whether a name's value is changed here, or may be, by who is given its address."""
    before = words[at - 1].text if at > begin else ""
    is_given = before == "&" and _is_call(words, at - 2, begin)
    return after in _CHANGES or before in ("++", "--") or is_given


def _keeps_default(words: Sequence[Lexeme], at: int, begin: int, found: _Gathered) -> bool:
    """Whether a name keeps the value that it has, since what it is given here, under a condition,
    is of the program's arguments."""
    if words[at].text not in found.values:
        return False
    texts = [word.text for word in _statement(words, at, begin)]
    is_conditional = found.depth > 0 or texts[0] in ("if", "else")
    return is_conditional and not found.command_line.isdisjoint(texts)


def _statement(words: Sequence[Lexeme], at: int, begin: int) -> Sequence[Lexeme]:
    """The words of the statement around one."""
    first, last = at, at
    while first > begin and words[first - 1].text not in _ENDS:
        first -= 1
    while last < len(words) and words[last].text not in _ENDS:
        last += 1
    return words[first:last]


def _construct(words: Sequence[Lexeme], at: int, begin: int, found: _Gathered) -> None:
    """`dim3 name(x, y)`, also as one of several."""
    closing = matching(words, at + 1)
    if not 0 < closing < len(words) - 1 or words[closing + 1].text not in (";", ","):
        return
    type_ = _type_before(words, at, begin)
    if not type_ and words[at - 1].text == ",":
        type_ = found.declared
    if type_:
        found.declare(words[at].text, type_)
        made = words[at]._replace(text=type_)
        found.give(words[at].text, (made, *words[at + 1 : closing + 1]))


def _behind_bounds(words: Sequence[Lexeme], at: int) -> int:
    """Where the value of `name[] = value` begins; 0 where there is none."""
    closing = matching(words, at)
    is_given = 0 < closing < len(words) - 2 and words[closing + 1].text == "="
    return closing + 2 if is_given and words[closing + 2].text == "{" else 0


def _is_given_element(words: Sequence[Lexeme], at: int) -> bool:
    """Whether `name[...]` is given a value."""
    closing = matching(words, at)
    following = words[closing + 1].text if 0 < closing < len(words) - 1 else ""
    return following == "=" or following in _CHANGES


def _alias(words: Sequence[Lexeme], at: int, end: int, found: _Gathered) -> None:
    """`using a = b;` or `typedef b a;`."""
    stop = at
    while stop < end and words[stop].text != ";":
        stop += 1
    inside = tuple(words[at + 1 : stop])
    if words[at].text == "using" and len(inside) > 2 and inside[1].text == "=":
        found.aliases[inside[0].text] = inside[2:]
    elif words[at].text == "typedef" and len(inside) > 1:
        found.aliases[inside[-1].text] = inside[:-1]


def _declare(words: Sequence[Lexeme], at: int, begin: int, found: _Gathered) -> None:
    """Note the type of a name where it is declared, be it as one of several."""
    stars = 0
    before = at - 1
    while before >= begin and words[before].text == "*":
        stars += 1
        before -= 1
    if before >= begin and words[before].text == "," and found.declared:
        found.types[words[at].text] = found.declared + "*" * stars
    elif type_ := _type_before(words, at, begin):
        found.declare(words[at].text, type_)


def _type_before(words: Sequence[Lexeme], at: int, begin: int) -> str:
    """The type that stands before a declared name, `float*` for a pointer; empty without one."""
    stars = ""
    at -= 1
    while at >= begin and words[at].text in ("*", "&", "const", "__restrict__"):
        stars += "*" * (words[at].text == "*")
        at -= 1
    end = at + 1
    while at >= begin and (_is_type(words[at]) or words[at].text == "::"):
        at -= 1
    if at >= begin and words[at].text not in _STARTS:
        return ""
    named = [word.text for word in words[at + 1 : end] if word.text not in _QUALIFIERS]
    return " ".join(named).replace(" :: ", "::") + stars if named else ""


def _is_type(word: Lexeme | None) -> bool:
    return word is not None and word.kind is TokenKind.NAME and word.text not in _NOT_TYPES


def _is_call(words: Sequence[Lexeme], at: int, begin: int) -> bool:
    """Whether a word stands within the brackets of a call: then `&` behind it takes an address."""
    if words[at].text not in ("(", ",", ")"):
        return False
    depth = 0
    while at >= begin:
        text = words[at].text
        depth += (text in (")", "}")) - (text in ("(", "{"))
        if depth < 0 or text == ";":
            return text == "("
        at -= 1
    return False


def _value(words: Sequence[Lexeme], begin: int) -> Lexemes:
    """The words of a value, up to the `,` or `;` that ends it."""
    at = begin
    while (at := first_outside(words, at, _ENDS_VALUE)) < len(words) and words[at].text == "<":
        is_template = words[at - 1].kind is TokenKind.NAME
        at = max(at, _template_end(words, at)) + 1 if is_template else at + 1
    return tuple(words[begin:at])


def _template_end(words: Sequence[Lexeme], opening: int) -> int:
    """The `>` that closes template arguments, -1 where a `<` compares: then a value follows it."""
    closing = template_end(words, opening)
    following = words[closing + 1].text if 0 <= closing < len(words) - 1 else ""
    return closing if following in (",", ";", ")", "}", "]", "(", "{", "::") else -1


def _containers(words: Sequence[Lexeme], opening: int, found: _Gathered) -> None:
    """`std::vector<T> a(n), b = a`, from the `<` on."""
    for name, element, count in declared_containers(words, opening, found.elements):
        found.elements[name] = element
        found.types[name] = " ".join(word.text for word in element) + "*"
        if count:
            found.hold(name, count)


def _change_container(words: Sequence[Lexeme], at: int, found: _Gathered) -> None:
    """`c.resize(n)` and its like, at the name of what it does."""
    container = words[at - 2].text
    if count := count_changed(words, at, found.elements):
        found.hold(container, count)
    elif words[at].text in CHANGES:
        found.opened.add(f"{container}.size")
        found.bytes_of.pop(container, None)


def _allocation(words: Sequence[Lexeme], at: int, found: _Gathered) -> None:
    """`cudaMalloc((void**)&p, bytes)`."""
    closing = matching(words, at + 1)
    inside = words[at + 2 : closing] if closing > 0 else ()
    comma = first_outside(inside, 0, ",")
    if comma == len(inside):
        return
    pointer = inside[:comma]
    # Of `&p[i]` the array is `p`.
    indexed = next((at for at, word in enumerate(pointer) if word.text == "["), comma)
    names = [word.text for word in pointer[:indexed] if word.kind is TokenKind.NAME]
    if names:
        found.bytes_of[names[-1]] = _value(inside, comma + 1)
