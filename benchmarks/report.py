"""What a benchmark found: a compact table for people, a JSON file for everything else."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import machine
from benchmarks.measure import Spread
from benchmarks.options import REPOSITORY, Options

RESULTS = Path(__file__).resolve().parent / "results"
Row = Mapping[str, object]


@dataclass
class Result:
    """The findings of one benchmark."""

    name: str
    table: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)  # targets and promises that did not hold

    def expect(self, holds: bool, target: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Note a target that was missed."""
        if not holds:
            self.missed.append(target)


def show(result: Result) -> None:
    """Print the table and what was missed."""
    print(f"\n{result.name}")
    print("\n".join(_aligned(result.table)))
    for target in result.missed:
        print(f"MISSED: {target}")
    sys.stdout.flush()


def save(result: Result, options: Options) -> Path:
    """Write results/<name>.json."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{result.name}.json"
    content = {
        "machine": machine.describe(),
        "command": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "options": dataclasses.asdict(options),
        **dataclasses.asdict(result),
    }
    file.write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")
    return file


def relative(argv: Iterable[str], folder: Path) -> str:
    """A command as somebody would repeat it from the repository."""
    text = " ".join(argv)
    return text.replace(f"{REPOSITORY}/", "").replace(str(folder), "FOLDER")


def _aligned(rows: list[Row]) -> list[str]:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return [
        "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in pairs)
        for pairs in (enumerate(zip(line, widths, strict=True)) for line in lines)
    ]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return str(Spread(value, value, value))
    return str(value)
