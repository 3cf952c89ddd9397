"""Self-supervised pretraining on one graph, and a feedback loop that decides which objective learns next.

``ControlG`` is an estimator in scikit-learn's manner, ``evaluate`` judges embeddings, ``compare`` runs methods side by
side, ``Scheduler`` is the feedback loop alone for a training loop of your own, ``controlg.torch`` the same for PyTorch.
"""

from ._compare import compare
from ._core import Graph, __version__
from ._estimator import ControlG
from ._evaluate import evaluate
from ._graph import load_graph
from ._scheduler import Scheduler, audit

__all__ = ["ControlG", "Graph", "Scheduler", "__version__", "audit", "compare", "evaluate", "load_graph"]
