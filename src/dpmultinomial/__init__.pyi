from ._accounting.composition import ZCDP as ZCDP
from ._accounting.composition import ApproxDP as ApproxDP
from ._accounting.composition import PureDP as PureDP
from ._accounting.composition import RenyiDP as RenyiDP
from ._accounting.composition import compose as compose
from ._inference.confidence import confidence as confidence
from ._inference.planning import plan as plan
from ._inference.posterior import posterior as posterior
from ._inference.posterior import posteriors as posteriors
from ._inference.reading import read as read
from ._inference.regression import Regression as Regression
from ._inference.release import Release as Release
from ._mechanisms.additive_counts import AdditiveCounts as AdditiveCounts
from ._mechanisms.dirichlet import Dirichlet as Dirichlet
from ._mechanisms.exact import Exact as Exact
from ._mechanisms.gaussian import DiscreteGaussian as DiscreteGaussian
from ._mechanisms.gaussian import Gaussian as Gaussian
from ._mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
from ._mechanisms.laplace import Laplace as Laplace
from ._mechanisms.perturbation import Perturbation as Perturbation
from ._mechanisms.random_rounding import RandomRounding as RandomRounding
from ._mechanisms.sufficient_statistics import CensoredStatistics as CensoredStatistics
from ._mechanisms.swapping.swapping import Swap as Swap
from ._models.calibrated_noise import audit as audit
from ._models.naive_bayes import PrivateNaiveBayes as PrivateNaiveBayes
from ._models.private_network import PrivateBayesianNetwork as PrivateBayesianNetwork
from ._seeding import stream as stream

__version__: str
__all__: list[str]
