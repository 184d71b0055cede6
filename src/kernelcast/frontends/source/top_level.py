"""The declarations of a source: functions, types, variables, and what they are marked with.

A tolerant scan of words, not a parser of C++: it finds where each declaration begins and ends, what
it names and whether it has a body. What stands in bodies of functions is not looked into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kernelcast.frontends.source.brackets import CLOSING, OPENING, matching, template_end
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme


class DeclarationKind(StrEnum):
    """What is declared."""

    FUNCTION = "function"
    TYPE = "type"
    VARIABLE = "variable"
    ALIAS = "alias"
    NAMESPACE = "namespace"
    USING_NAMESPACE = "using namespace"
    INSTANCE = "instance"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class SourceDeclaration:
    """A declaration and the words `begin` to `end` that make it.

    `marks` are those of its first words that say where it runs and how it is stored. `parameters`
    and `body` are the words between the brackets, `template` the words between those of
    `template<...>`; None where there are none. `names` are all it declares, without scope;
    `scope` is that of namespaces and classes around it, such as `a::b`.
    """

    kind: DeclarationKind
    names: tuple[str, ...]
    begin: int
    end: int
    marks: frozenset[str] = frozenset()
    scope: str = ""
    template: tuple[int, int] | None = None
    parameters: tuple[int, int] | None = None
    body: tuple[int, int] | None = None
    members: tuple[SourceDeclaration, ...] = ()

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, or a template of kernels."""
        return self.kind is DeclarationKind.FUNCTION and "__global__" in self.marks

    @property
    def is_device(self) -> bool:
        """Whether it is marked as something of the device."""
        return not self.marks.isdisjoint(_DEVICE)

    @property
    def name(self) -> str:
        """Its first name with its scope."""
        own = self.names[0] if self.names else ""
        return f"{self.scope}::{own}" if self.scope else own


def walk(declarations: Sequence[SourceDeclaration]) -> Iterator[SourceDeclaration]:
    """All declarations, those in namespaces and classes too, each before what stands in it."""
    for declaration in declarations:
        yield declaration
        yield from walk(declaration.members)


_DEVICE = frozenset({"__global__", "__device__", "__constant__", "__managed__", "__shared__"})
_MARKS = _DEVICE | {
    *("__host__", "constexpr", "consteval", "const", "static", "inline", "virtual", "friend"),
    *("extern", "typedef", "using", "template", "explicit", "enum", "default", "delete"),
}
_CLASS_KEYS = frozenset({"struct", "class", "union", "enum"})
_ATTRIBUTES = frozenset(
    {
        *("__launch_bounds__", "__align__", "alignas", "__attribute__", "__declspec", "decltype"),
        *("noexcept", "__cluster_dims__", "__block_size__", "__maxnreg__", "explicit", "throw"),
        *("__nv_pure__", "requires", "asm", "__asm__", "typeof", "__attribute"),
    }
)
"""Names whose brackets hold no parameters."""
_ACCESS = frozenset({"public", "private", "protected", "signals", "slots"})


def read_declarations(words: Sequence[Lexeme]) -> tuple[SourceDeclaration, ...]:
    """The declarations of a file's words, those in namespaces as members of these."""
    return tuple(_Scan(words).declarations(0, len(words), ""))


class _Scan:
    def __init__(self, words: Sequence[Lexeme]) -> None:
        self._words = words

    def declarations(
        self, at: int, end: int, scope: str, in_class: bool = False
    ) -> Iterator[SourceDeclaration]:
        """The declarations between two words."""
        while at < end:
            text = self._words[at].text
            if text in (";", "}"):
                at += 1
            elif in_class and text in _ACCESS:
                at = self._after(":", at, end)
            else:
                found = self._declaration(at, end, scope)
                yield found
                at = max(found.end, at + 1)

    def _after(self, text: str, at: int, end: int) -> int:
        while at < end and self._words[at].text != text:
            at += 1
        return at + 1

    def _declaration(self, at: int, end: int, scope: str) -> SourceDeclaration:
        if (block := self._block(at, end, scope)) is not None:
            return block
        return _One(self, self._words, at, end, scope).read()

    def _block(self, at: int, end: int, scope: str) -> SourceDeclaration | None:
        """`namespace a { ... }` or `extern "C" { ... }`."""
        words = self._words
        head = at
        if words[at].text == "inline":
            head += 1
        if words[head].text == "namespace":
            opening = head + 1
            while opening < end and words[opening].text not in ("{", "=", ";"):
                opening += 1
            if opening >= end or words[opening].text != "{":
                return None
            name = "".join(w.text for w in words[head + 1 : opening])
        elif words[at].text == "extern" and at + 2 < end and words[at + 2].text == "{":
            if words[at + 1].kind is not TokenKind.TEXT:
                return None
            opening, name = at + 2, ""
        else:
            return None
        closing = matching(words, opening)
        closing = end if closing < 0 else closing
        inside = f"{scope}::{name}" if scope and name else scope or name
        members = tuple(self.declarations(opening + 1, closing, inside))
        return SourceDeclaration(
            DeclarationKind.NAMESPACE,
            (name,) if name else (),
            at,
            min(closing + 1, end),
            scope=scope,
            members=members,
        )


class _One:
    """One declaration, read from its first word on."""

    def __init__(self, scan: _Scan, words: Sequence[Lexeme], at: int, end: int, scope: str) -> None:
        self._scan = scan
        self._words = words
        self._begin = at
        self._at = at
        self._end = end
        self._scope = scope
        self._marks: set[str] = set()
        self._template: tuple[int, int] | None = None
        self._parameters: tuple[int, int] | None = None
        self._body: tuple[int, int] | None = None
        self._class_key = -1
        self._class_body: tuple[int, int] | None = None
        self._assigned = -1
        self._pointer_end = -1  # the bracket that closes `(*name`
        self._is_listed = False  # behind the `:` of a constructor

    def read(self) -> SourceDeclaration:
        """The declaration."""
        self._prefix()
        while self._at < self._end:
            if self._step():
                break
        return self._made()

    def _prefix(self) -> None:
        """`template<...>`, once or more often."""
        words = self._words
        while self._at + 1 < self._end and words[self._at].text == "template":
            if words[self._at + 1].text != "<":
                self._marks.add("template")
                self._at += 1
                return
            closing = template_end(words, self._at + 1)
            if closing < 0:
                return
            self._template = (self._at + 2, closing)
            self._at = closing + 1

    def _step(self) -> bool:
        """Read on; whether the declaration ends here."""
        word = self._words[self._at]
        text = word.text
        if text == ";":
            self._at += 1
            return True
        if text == "(":
            self._round()
        elif text == "[":
            self._skip()
        elif text == "{":
            return self._curly()
        elif text == "}":  # more closed than opened
            return True
        elif text == "<" and self._words[self._at - 1].kind is TokenKind.NAME:
            self._angle()
        elif word.kind is TokenKind.NAME:
            self._name(text)
        else:
            self._symbol(text)
        return False

    def _name(self, text: str) -> None:
        if self._assigned < 0 and not self._is_listed:
            if text in _MARKS:
                self._marks.add(text)
            if text in _CLASS_KEYS and self._class_key < 0 and self._parameters is None:
                self._class_key = self._at
        elif text in ("default", "delete"):
            self._marks.add(text)
        if text == "operator":
            self._operator()
        else:
            self._at += 1

    def _operator(self) -> None:
        """`operator()` and its like: up to the bracket of its parameters."""
        self._at += 1
        while self._at < self._end and self._words[self._at].text not in ("(", ";"):
            self._at += 1
        following = [w.text for w in self._words[self._at : self._at + 3]]
        if following[:2] == ["(", ")"] and following[2:] == ["("]:
            self._at += 2

    def _symbol(self, text: str) -> None:
        if text == "=" and self._assigned < 0:
            self._assigned = self._at
        elif text == ":" and self._parameters is not None and self._assigned < 0:
            self._is_listed = True
        self._at += 1

    def _angle(self) -> None:
        closing = template_end(self._words, self._at) if self._assigned < 0 else -1
        self._at = closing + 1 if closing >= 0 else self._at + 1

    def _round(self) -> None:
        opening = self._at
        self._skip()
        before = self._words[opening - 1].text if opening > self._begin else ""
        is_first = self._parameters is None and self._assigned < 0
        if is_first and self._is_pointer(opening):
            self._pointer_end = self._at - 1
            self._skip()
        elif is_first and before not in _ATTRIBUTES:
            self._parameters = (opening + 1, max(self._at - 1, opening + 1))

    def _is_pointer(self, opening: int) -> bool:
        """Whether a bracket holds `*name` of a pointer to a function, not parameters."""
        inside = [word.text for word in self._words[opening + 1 : self._at - 1]]
        following = [word.text for word in self._words[self._at : self._at + 1]]
        has_star = "," not in inside and not {"*", "&"}.isdisjoint(inside)
        return has_star and following in (["("], ["["])

    def _skip(self) -> None:
        closing = matching(self._words, self._at)
        self._at = self._end if closing < 0 else closing + 1

    def _curly(self) -> bool:
        opening = self._at
        self._skip()
        inside = (opening + 1, max(self._at - 1, opening + 1))
        if self._assigned >= 0:
            return False
        if self._parameters is not None:
            before = self._words[opening - 1]
            if self._is_listed and before.text not in (")", "}") and before.text != "...":
                return False  # a member's value, `a{1}`
            self._body = inside
            return True
        if self._class_key >= 0 and self._class_body is None:
            self._class_body = inside
        return False

    def _made(self) -> SourceDeclaration:
        kind = self._kind()
        members: tuple[SourceDeclaration, ...] = ()
        names = self._names(kind)
        if self._class_body is not None and "enum" not in self._marks:
            own = names[0] if names else ""
            scope = f"{self._scope}::{own}" if self._scope else own
            members = tuple(self._scan.declarations(*self._class_body, scope, in_class=True))
        return SourceDeclaration(
            kind,
            names,
            self._begin,
            self._at,
            frozenset(self._marks),
            self._scope,
            self._template,
            self._parameters,
            self._body if self._body is not None else self._class_body,
            members,
        )

    def _kind(self) -> DeclarationKind:
        words = self._words
        first = words[self._begin].text
        following = words[self._begin + 1].text if self._begin + 1 < self._end else ""
        if first == "using" and following == "namespace":
            return DeclarationKind.USING_NAMESPACE
        if {"using", "typedef"} & self._marks or first == "namespace":
            return DeclarationKind.ALIAS
        if first in ("static_assert", "asm", "concept"):
            return DeclarationKind.OTHER
        if "template" in self._marks and self._template is None and self._body is None:
            return DeclarationKind.INSTANCE
        if self._parameters is not None:
            return DeclarationKind.FUNCTION
        if self._class_key >= 0 and (self._class_body is not None or self._is_forward()):
            return DeclarationKind.TYPE
        return DeclarationKind.VARIABLE

    def _is_forward(self) -> bool:
        """`struct name;`: all words behind the key are the name."""
        inside = self._words[self._class_key + 1 : self._at - 1]
        return sum(w.kind is TokenKind.NAME for w in inside) <= 1

    def _names(self, kind: DeclarationKind) -> tuple[str, ...]:
        if kind is DeclarationKind.FUNCTION:
            assert self._parameters is not None
            return (self._function_name(self._parameters[0] - 2),)
        if kind is DeclarationKind.TYPE:
            return self._type_names()
        if kind is DeclarationKind.ALIAS:
            return self._alias_names()
        if kind is DeclarationKind.USING_NAMESPACE:
            inside = self._words[self._begin + 2 : self._at - 1]
            return ("".join(word.text for word in inside),)
        return tuple(self._declarators())

    def _function_name(self, at: int) -> str:
        """The name before the bracket of the parameters, without scope and template arguments."""
        words = self._words
        start = at
        while start >= self._begin and words[start].text != "operator" and at - start < 6:
            start -= 1
        if start >= self._begin and words[start].text == "operator":
            return "operator" + "".join(w.text for w in words[start + 1 : at + 1])
        if words[at].text == ">":
            depth = 0
            while at > self._begin:
                depth += (words[at].text == ">") - (words[at].text == "<")
                at -= 1
                if depth == 0:
                    break
        is_destructor = at > self._begin and words[at - 1].text == "~"
        return f"~{words[at].text}" if is_destructor else words[at].text

    def _type_names(self) -> tuple[str, ...]:
        body = self._class_body
        limit = body[0] - 1 if body is not None else self._at
        name = ""
        at = self._class_key + 1
        while at < limit and self._words[at].text not in (":", "<", ";"):
            word = self._words[at]
            if word.text in _ATTRIBUTES and self._words[at + 1].text == "(":
                at = matching(self._words, at + 1)
            elif word.kind is TokenKind.NAME and word.text not in ("final", "class", "struct"):
                name = word.text
            at += 1
        found = [name] if name else []
        if body is not None and "enum" in self._marks:
            found += self._enumerators(body)
        if body is not None:
            found += [w.text for w in self._words[body[1] + 1 : self._at] if _is_name(w)]
        return tuple(found)

    def _enumerators(self, body: tuple[int, int]) -> list[str]:
        words = self._words
        before = [body[0], *(at + 1 for at in range(*body) if words[at].text == ",")]
        return [words[at].text for at in before if at < body[1] and _is_name(words[at])]

    def _alias_names(self) -> tuple[str, ...]:
        words = self._words
        if "using" in self._marks or words[self._begin].text == "namespace":
            stop = self._assigned if self._assigned >= 0 else self._at - 1
            named = [w.text for w in words[self._begin : stop] if _is_name(w)]
            return tuple(named[-1:])
        stop = self._at - 1
        if self._pointer_end >= 0:  # typedef void (*name)(int)
            stop = self._pointer_end
        named = [w.text for w in words[self._begin : _before_bracket(words, stop, self._begin)]]
        found = self._type_names() if self._class_body is not None else ()
        own = [text for text in named if text.isidentifier()]
        return tuple(dict.fromkeys([*own[-1:], *found]))

    def _declarators(self) -> Iterator[str]:
        """Names of variables: those before `=`, `[`, `,`, `;`, `{` or `(`."""
        words = self._words
        depth = 0
        for at in range(self._begin, self._at):
            text = words[at].text
            depth += (text in OPENING) - (text in CLOSING)
            if depth == 0 and _is_name(words[at]) and at + 1 < self._at:
                if words[at + 1].text in ("=", "[", ",", ";", "{", ":"):
                    yield words[at].text
            elif depth == 1 and _is_name(words[at]) and words[at - 1].text in ("*", "&"):
                yield words[at].text


def _is_name(word: Lexeme) -> bool:
    return word.kind is TokenKind.NAME


def _before_bracket(words: Sequence[Lexeme], stop: int, begin: int) -> int:
    """Where the bounds of an array, if there are any, begin before a word."""
    while stop > begin and words[stop - 1].text == "]":
        while stop > begin and words[stop - 1].text != "[":
            stop -= 1
        stop -= 1
    return stop
