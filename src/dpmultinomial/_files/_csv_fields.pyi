from typing import NamedTuple

from numpy import int64
from numpy.typing import NDArray

FAULTS: tuple[str, ...]

class Fields(NamedTuple):
    starts: NDArray[int64]
    ends: NDArray[int64]
    lines: NDArray[int64]
    fault: str
    line: int
    column: int
    found: int

def split(
    data: bytes | bytearray | memoryview,
    *,
    delimiter: bytes = b",",
    first: int = 0,
    most_columns: int = 10_000,
    most_length: int = 32_768,
) -> Fields: ...
def exchange(
    data: bytes | bytearray | memoryview,
    starts: NDArray[int64],
    ends: NDArray[int64],
    *,
    columns: NDArray[int64],
    sources: NDArray[int64],
) -> bytes: ...
