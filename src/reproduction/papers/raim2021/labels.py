"""Names of targets, parameters and methods as figures print them."""

from ...style import BLACK, BLUE, GREEN, ORANGE, PINK, RED

TARGETS = {"xi_mean": r"$\xi_{\mathrm{mean}}$", "xi_sse": r"$\xi_{\mathrm{sse}}$"}
METHODS = {
    "as_written": ("as written", RED),
    "slides_model": ("slides' model, coherent", ORANGE),
    "corrected": ("corrected", BLUE),
    "exact": ("exact", BLACK),
    "statistics": ("exact, without records", BLACK),
    "bernstein_sheldon": ("Bernstein, Sheldon", PINK),
    "naive": ("noise ignored", ORANGE),
    "without privacy": ("without privacy", GREEN),
}
PARAMETERS = {"mu": r"$\mu$", "sigma2": r"$\sigma^2$"}
