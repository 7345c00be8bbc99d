"""Differentially private counts and multinomials: mechanism, accounting, posterior.

``kernels``     compiled samplers
``mechanisms``  how a release is made, its law and its cost
``accounting``  what releases cost, alone and together
``audits``      claimed guarantees checked exactly
``posteriors``  what can be inferred from a release
``models``      private classifiers (needs the extra ``models``)
``releases``    confidential data in, public files out (needs the extra ``releases``)
``seeding``     named random streams; ``honesty``: how far an answer can be trusted
"""

from ._lazy import attach

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach(__name__, __path__)
