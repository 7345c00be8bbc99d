"""Names of targets, parameters and methods as figures print them."""

from ...style import BLACK, BLUE, GREEN, ORANGE, RED

TARGETS = {"xi_mean": r"$\xi_{\mathrm{mean}}$", "xi_sse": r"$\xi_{\mathrm{sse}}$"}
METHODS = {
    "as_written": ("as written", RED),
    "slides_model": ("slides' model, coherent", ORANGE),
    "corrected": ("corrected", BLUE),
    "exact": ("exact", BLACK),
    "without privacy": ("without privacy", GREEN),
}
PARAMETERS = {"mu": r"$\mu$", "sigma2": r"$\sigma^2$"}
