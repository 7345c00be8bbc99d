"""A probability that knows how it was found."""

from .._honesty import EXACT, Honesty


class Chance(float):
    """A probability; a float whose ``.honesty`` is its state, with the error of the probability."""

    honesty: Honesty

    def __new__(cls, value: float, honesty: Honesty = EXACT) -> "Chance":
        found = super().__new__(cls, min(max(value, 0.0), 1.0))
        found.honesty = honesty
        return found

    def __repr__(self) -> str:
        error = f", standard error {self.honesty.error:.2g}" if self.honesty.error > 0 else ""
        return f"{float(self):.6g} ({self.honesty.word}{error})"

    def __reduce__(self) -> tuple[type, tuple[float, Honesty]]:
        return Chance, (float(self), self.honesty)
