"""Figures as people read them: three digits and a prefix."""

from __future__ import annotations

import math

_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"))


def digits(value: float, count: int = 3) -> str:
    """`value` with about `count` significant digits and no exponent: `0.0214`, `3.35`, `1240`."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{count - 1}e}")
    decimals = count - 1 - math.floor(math.log10(abs(rounded)))
    text = f"{value:.{max(0, min(decimals, 6))}f}"
    return text if float(text) else "0"


def scaled(value: float, unit: str) -> str:
    """A count or rate with a prefix of 1000: `3.35 TB/s`, `268 M`."""
    return _prefixed(value, unit, _LARGE)


def seconds(value: float) -> str:
    """A time: `262 us`."""
    return _prefixed(value, "s", _SMALL)


def _prefixed(value: float, unit: str, table: tuple[tuple[float, str], ...]) -> str:
    if value == 0:
        return f"0 {unit}".rstrip()
    # 999.6 becomes 1.00 k, not 1000.
    factor, prefix = next((p for p in table if abs(value) >= 0.9995 * p[0]), table[-1])
    return f"{digits(value / factor)} {prefix}{unit}".rstrip()


def size(value: float) -> str:
    """Bytes: `805 MB`."""
    return scaled(value, "B")


def grouped(value: float) -> str:
    """A whole number in groups of three: `1 048 576`."""
    return f"{value:,.0f}".replace(",", " ")


def percent(share: float) -> str:
    """A share of the whole: `93 %`, `0.4 %`."""
    return f"{digits(100 * share, 2)} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"
