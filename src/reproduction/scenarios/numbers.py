"""Numbers in sentences: counts with thousands apart, shares in per cent, digits as their interval makes worth."""

from math import floor, isfinite, log10

MOST_DIGITS = 4


def count(value: float) -> str:
    """A whole number, or a mean of whole numbers with one decimal."""
    if not isfinite(value):
        return "no bound"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def percent(value: float, digits: int = 1) -> str:
    """A share in per cent; never 0 % or 100 % unless it is.

    Parameters
    ----------
    value : in [0, 1].
    digits : after the point.
    """
    least = 10.0**-digits
    if 0 < value < least / 200:
        return f"less than {least:.{digits}f} %"
    if 1 - least / 200 < value < 1:
        return f"more than {100 - least:.{digits}f} %"
    text = f"{100 * value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def digits_of(width: float) -> int:
    """Decimals of a per cent that an interval of this width (of a share) makes worth: two digits of the width."""
    if not isfinite(width) or width <= 0:
        return 1
    return int(min(max(1 - floor(log10(100 * width)), 0), MOST_DIGITS))


def shares(*values: float, width: float) -> list[str]:
    """Shares of one sentence with the same number of decimals."""
    return [percent(value, max(digits_of(width), 1)) for value in values]


def real(value: float, width: float) -> str:
    """A parameter, with two digits of its interval's width."""
    if not isfinite(value):
        return "no bound"
    if not isfinite(width) or width <= 0:
        return f"{value:.4g}"
    decimals = int(min(max(1 - floor(log10(width)), 0), 12))
    return f"{value:,.{decimals}f}"


def listed(names: list[str], word: str = "and") -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}" if names else ""
