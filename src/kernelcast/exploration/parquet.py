"""An exploration as a table in a Parquet file: one line per configuration, program and model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kernelcast.errors import ToolError
from kernelcast.exploration.explored import Exploration
from kernelcast.files import whole_file


def write_parquet(path: Path, exploration: Exploration) -> None:
    """Columns `program`, `model`, one for each swept number by its path, `time_s` and `pareto`.

    `time_s` is that of all launches of the program, null where one cannot run. Raises ToolError
    where pyarrow is not installed, InputError where the file cannot be written.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ToolError("pyarrow is not installed", hint="install kernelcast[parquet]") from None
    tables = [pyarrow.table(columns) for columns in _columns(exploration, pyarrow)]
    with whole_file(path) as file:
        parquet.write_table(pyarrow.concat_tables(tables), file)


def _columns(exploration: Exploration, pyarrow: Any) -> Iterator[dict[str, Any]]:
    for program in exploration.programs:
        for model in exploration.models:
            found = exploration.program(program, model)
            count = len(found.times_s)
            yield {
                "program": pyarrow.array(np.full(count, program)),
                "model": pyarrow.array(np.full(count, model)),
                **{path: pyarrow.array(v) for path, v in exploration.numbers.items()},
                "time_s": pyarrow.array(found.times_s, from_pandas=True),
                "pareto": pyarrow.array(found.is_on_front),
            }
