"""Names of the package: a type name has one meaning, and only what others use is public."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kernelcast"

TYPE_NAME = re.compile(r"_?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")

FOUND_BY_PLACE = {"BENCHMARKS", "KERNELS", "MEANINGS", "OPCODES", "command", "main", "read"}
FOUND_BY_PLACE |= {"cli", "recognises", "render", "rules"}
"""Names by which a module of a folder is used whose name nobody writes."""

INTERFACE = re.compile(
    r"kernelcast(\.api|\.pytest_plugin|\.models\.[a-z_]+|\.suite\.(expected|families)\b.*)?"
)
"""Modules that are the interface, or whose definitions are found by their name at run time."""


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name."""
    return {dotted(file): ast.parse(file.read_text()) for file in sorted(PACKAGE.rglob("*.py"))}


def dotted(file: Path) -> str:
    start = ROOT / "src" if file.is_relative_to(PACKAGE) else ROOT
    return ".".join(file.relative_to(start).with_suffix("").parts).removesuffix(".__init__")


def definitions(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """Names that a module defines at its top, those of one statement together."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield (name,)
            case ast.Assign(targets=targets):
                yield tuple(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield (name,)


def test_a_type_name_is_defined_in_one_module():
    places = defaultdict(set)
    for module, tree in trees().items():
        for names in definitions(tree):
            for name in filter(TYPE_NAME.fullmatch, names):
                places[name.lstrip("_")].add(module)
    assert not {name: sorted(found) for name, found in places.items() if len(found) > 1}


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` as it is written, nothing of other expressions."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name) if owner := dotted_name(value):
            return f"{owner}.{name}"
    return ""


def uses(module: str, tree: ast.Module, is_package: bool) -> Iterator[tuple[str, str]]:
    """What a module uses of others, as pairs of module and name: imports and `module.name`."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                yield source, alias.name
                modules[alias.asname or alias.name] = f"{source}.{alias.name}"
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                if owner := dotted_name(node.value):
                    yield modules.get(owner, owner), node.attr
            case ast.Call(args=[ast.Name() as first, ast.Constant() as second, *_]):
                # monkeypatch.setattr(module, "NAME", ...)
                yield modules.get(first.id, ""), str(second.value)
            case ast.Constant():
                owner, _, name = str(node.value).rpartition(".")
                yield owner, name


@cache
def used() -> set[tuple[str, str]]:
    """Names that another module of the package uses, or a test, a benchmark or a document."""
    found = set()
    for folder in (PACKAGE, ROOT / "tests", ROOT / "benchmarks"):
        for file in folder.rglob("*.py"):
            module = dotted(file)
            of_others = uses(module, ast.parse(file.read_text()), file.stem == "__init__")
            found |= {(source, name) for source, name in of_others if source != module}
    texts = [file.read_text() for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]]
    texts += [file.read_text() for file in (ROOT / "tests").rglob("*.py")]
    for source, names in re.findall(
        r"from (kernelcast[\w.]*) import (\([^)]*\)|[^\n]*)", "\n".join(texts)
    ):
        found |= {(source, name) for name in re.findall(r"\w+", names)}
    return found


def in_signatures(tree: ast.Module) -> set[str]:
    """Names in the annotations and bases of whatever is public."""
    found = set()
    for node in tree.body:
        names = [name for group in definitions(ast.Module([node], [])) for name in group]
        if any(not name.startswith("_") for name in names):
            found |= {name for part in interface(node) for name in re.findall(r"\w+", part)}
    return found


def interface(node: ast.AST) -> Iterator[str]:
    """The annotations of a function, of a class's fields and methods, and what an alias names."""
    match node:
        case ast.FunctionDef():
            every = [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
            yield from (ast.unparse(a.annotation) for a in every if a.annotation)
            yield ast.unparse(node.returns) if node.returns else ""
        case ast.ClassDef():
            yield from map(ast.unparse, node.bases)
            for inner in node.body:
                yield from interface(inner)
        case ast.AnnAssign():
            yield ast.unparse(node.annotation)
        case ast.Assign():
            yield ast.unparse(node.value)


def test_what_is_public_is_used_by_others():
    """The interface is `kernelcast.__all__`; else a name that only its own module uses is private.

    Public are also errors, which others catch by their base, and the types in public signatures.
    """
    needless = []
    for module, tree in trees().items():
        if INTERFACE.fullmatch(module):
            continue
        spoken = in_signatures(tree) | FOUND_BY_PLACE
        for names in definitions(tree):
            public = [name for name in names if not name.startswith("_")]
            needed = [
                n for n in public if (module, n) in used() or n in spoken or n[-5:] == "Error"
            ]
            if public and not needed:
                needless += [f"{module}.{name}" for name in public]
    assert not needless
