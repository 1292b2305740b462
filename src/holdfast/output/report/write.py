"""The report as a file: there whole, or not at all."""

from pathlib import Path

from holdfast.output.report.figures import Figures
from holdfast.output.report.page import page
from holdfast.output.target import whole_file


def write(figures: Figures, path: Path) -> int:
    """Write the page; gives its size. Whatever is raised, a file that stood there before is untouched."""
    made = page(figures)
    with whole_file(path) as file:
        file.write(made)
    return len(made)
