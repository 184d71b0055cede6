"""The options of commands that predict published sets of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import Output, gathered

if TYPE_CHECKING:
    from kernelcast.models.terms.base import Model
    from kernelcast.validation.public import SetAccuracy
    from kernelcast.validation.public_launches import Folders
    from kernelcast.validation.public_sets import PublicSet

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class SetsFlags:
    """Which sets are predicted, and where their files are."""

    file: Path
    data: Path
    sources: Path
    keep: Path | None
    only: tuple[str, ...]
    threads: int | None

    def chosen(self) -> tuple[PublicSet, ...]:
        """The sets that are asked for."""
        from kernelcast.validation.public_sets import read_sets, sets_called

        return sets_called(read_sets(self.file), self.only, str(self.file))

    @property
    def folders(self) -> Folders:
        """Where workloads, measurements and sources lie."""
        from kernelcast.validation.public_launches import Folders

        return Folders(self.file.parent, self.data, self.sources)

    @property
    def kept(self) -> Path:
        """Where launches that are done are kept."""
        from kernelcast.toolchain.cache import default_directory

        return self.keep or default_directory() / "validation"

    def predicted(self, count: int, models: Sequence[Model], output: Output) -> list[SetAccuracy]:
        """About `count` launches of every set, by every model."""
        from kernelcast.cli.progress import progress_bar
        from kernelcast.validation.public import accuracy_of_sets

        sets = self.chosen()
        with progress_bar("predicting", output.quiet) as progress:
            return accuracy_of_sets(
                sets,
                self.folders,
                count,
                models,
                keep=self.kept,
                workers=self.threads,
                progress=progress,
            )

    def missing(self, rows: Sequence[SetAccuracy], output: Output) -> list[str]:
        """What could not be predicted, said once each."""
        said = (f"{row.title}, {row.gpu}: {what}" for row in rows for what in row.missing)
        lines = list(dict.fromkeys(said))
        if any(row.score or row.counted for row in rows):
            for line in lines:
                output.remark(line)
        return lines


sets_options = gathered(
    "sets",
    SetsFlags,
    click.argument("file", metavar="SETS.toml", type=click.Path(path_type=Path)),
    click.option(
        "--data",
        required=True,
        metavar="DIR",
        type=_FOLDER,
        help="The folder that holds the published measurements.",
    ),
    click.option(
        "--sources",
        required=True,
        metavar="DIR",
        type=_FOLDER,
        help="The folder that holds the sources of their kernels.",
    ),
    click.option(
        "--keep",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where launches that are done are kept, by all that they follow from: the same "
        "command goes on where it was interrupted.  [default: in the cache]",
    ),
    click.option("--only", metavar="TEXT", multiple=True, help="Sets whose title or GPU has TEXT."),
    click.option(
        "--threads",
        type=click.IntRange(min=1),
        metavar="N",
        help="Predict N launches side by side; by default as many as there are cores.",
    ),
)
"""`SETS.toml --data --sources --keep --only --threads`, as `sets: SetsFlags`."""
