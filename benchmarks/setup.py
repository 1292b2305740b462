"""Makes one environment per peer under benchmarks/venvs, with what is pinned beside it, by version and hash."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from venv import EnvBuilder

HERE = Path(__file__).resolve().parent
VENVS = HERE / "venvs"
PEERS = ("bare", "scrapy", "crawlee")


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment."""
    return VENVS / peer / "bin/python"


def ensure(peer: str) -> Path:
    """Make the environment unless it stands with these very pins; the value is its interpreter."""
    pins = (HERE / f"requirements-{peer}.txt").read_text(encoding="utf-8")
    installed = VENVS / peer / "installed.txt"
    if not installed.exists() or installed.read_text(encoding="utf-8") != pins:
        print(f"making the environment of {peer}", file=sys.stderr)
        EnvBuilder(clear=True, with_pip=True).create(VENVS / peer)
        pip = [str(python_of(peer)), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        requirements = str(HERE / f"requirements-{peer}.txt")
        subprocess.run([*pip, "install", "--no-deps", "--require-hashes", "-r", requirements], check=True)
        installed.write_text(pins, encoding="utf-8")
    return python_of(peer)


def main() -> None:
    """Make all environments, or the named ones."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=", ".join(PEERS))
    for peer in parser.parse_args().peers or PEERS:
        ensure(peer)


if __name__ == "__main__":
    main()
