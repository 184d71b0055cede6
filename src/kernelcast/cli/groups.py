"""Commands found by their files: what is there is known, what is called is imported."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from kernelcast.errors import NotFoundError


@cache
def command_summaries(package: str) -> dict[str, str]:
    """Commands with one line each: the modules of a package that define `command`.

    They are read, not imported, so that help costs no import of the package's libraries.
    """
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    found = {}
    files = {*folder.glob("*.py"), *folder.glob("*/__init__.py")} - {folder / "__init__.py"}
    for file in files:
        module = ast.parse(file.read_bytes())
        functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        if "command" in functions:
            stem = file.parent.name if file.name == "__init__.py" else file.stem
            summary = (ast.get_docstring(module) or "").partition("\n")[0]
            found[stem.replace("_", "-")] = summary
    return dict(sorted(found.items()))


class CommandsByFile(click.Group):
    """A group whose sub-commands are the modules of a package, imported when called.

    `kind` is what its sub-commands are called where a name is unknown.
    """

    def __init__(self, *args: Any, package: str, kind: str = "command", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package
        self._kind = kind

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all sub-commands."""
        return list(command_summaries(self._package))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The sub-command of that name; imports its module alone."""
        stem = cmd_name.replace("-", "_")
        module = f"{self._package}.{stem}"
        if "_" in cmd_name or not stem.isidentifier() or find_spec(module) is None:
            return None
        return getattr(import_module(module), "command", None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but an unknown name answers with the nearest ones."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise NotFoundError(self._kind, name, command_summaries(self._package))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List sub-commands without importing them."""
        with formatter.section(f"{self._kind.capitalize()}s"):
            formatter.write_dl(list(command_summaries(self._package).items()))
