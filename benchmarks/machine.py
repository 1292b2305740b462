"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from benchmarks import server


def describe() -> dict[str, str | int | float]:
    """CPU, cores, memory, kernel, Python and web server of this machine."""
    return {
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(_field(Path("/proc/meminfo"), "MemTotal").split()[0]) / 2**20, 1),
        "load_before": round(os.getloadavg()[0], 2),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "web_server": server.version(),
    }


def _field(file: Path, name: str) -> str:
    for line in file.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
