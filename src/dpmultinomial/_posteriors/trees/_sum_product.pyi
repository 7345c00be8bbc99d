from typing import final

import numpy as np
from numpy.typing import NDArray

STATES: tuple[str, ...]
_Window = tuple[int, NDArray[np.float64]]

@final
class SumProduct:
    # parent, first, count, sites, tables, tilts, slacks, drop; the compiled slot shows no names
    def __new__(cls, *args: NDArray[np.generic] | float) -> SumProduct: ...
    def up(self) -> tuple[float, float, tuple[int, str]]: ...
    def down(
        self,
        wanted: NDArray[np.bool_],
        tail: float,
        *,
        digammas: bool = False,
        groups: NDArray[np.int64] | None = None,
        edges: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64] | None, tuple[int, str]]: ...
    def family(self, v: int) -> tuple[list[_Window], _Window, list[_Window]]: ...
    def root(self) -> _Window: ...
    def split(self, v: int, totals: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]: ...
    def sums(self) -> NDArray[np.float64]: ...
    def nodes(self) -> NDArray[np.float64]: ...
