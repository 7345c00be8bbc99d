"""Write synthetic measurement files with which users can try the scenario. The command is
``python -m reproduction.scenarios.noisy_measurements.example nmf``.
"""

import argparse
from collections.abc import Sequence

from dpmultinomial._seeding import stream
from reproduction import synthetic_census


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the measurement files of a small synthetic state, with the noise of the 2020 Redistricting files."""
    asked = argparse.ArgumentParser(prog="example", description="Make synthetic noisy measurement files.")
    asked.add_argument("folder", help="folder for US_Person_PL_PROD and the true counts")
    asked.add_argument("--state", default="VT", help="state: two letters or FIPS code")
    asked.add_argument("--table", choices=("person", "unit"), default="person", help="people or housing units")
    asked.add_argument("--blocks", type=int, default=600, help="number of populated blocks")
    asked.add_argument("--seed", type=int, default=1, help="seed of the synthetic data")
    a = asked.parse_args(arguments)
    tracts = max(a.blocks // 30, 1)
    size = synthetic_census.Size(
        counties=min(4, tracts), tracts=tracts, groups=min(3 * tracts, a.blocks), blocks=a.blocks
    )
    rng = stream(a.seed, "noisy_measurements", "example")
    folder = synthetic_census.write(a.folder, state=a.state, table=a.table, size=size, rng=rng)
    print(f"{folder}: {synthetic_census.NOTICE}; the true counts are in {synthetic_census.TRUTH}")


if __name__ == "__main__":
    main()
