"""Where values lie on an axis, and at which of them it is worth a tick."""

from typing import Final

_STEPS_S: Final = (
    0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip


def ticks(highest: float, most: int = 4) -> list[float]:
    """0 and some round numbers up to the first that is not below `highest`."""
    if highest <= 0:
        return [0.0, 1.0]
    step = 10.0**-6
    while True:
        for factor in (1, 2, 5):
            if highest <= step * factor * most:
                count = -int(-highest // (step * factor))
                return [step * factor * n for n in range(count + 1)]
        step *= 10


def time_ticks(length_s: float, most: int) -> list[float]:
    """Round moments within so many seconds."""
    step = next((one for one in _STEPS_S if length_s / one <= most), None)
    if step is None:
        step = 86_400.0 * -int(-length_s // (86_400 * most))
    return [step * n for n in range(int(length_s / step) + 1)]
