"""Self-supervised pretraining on one graph with several objectives, scheduled by a feedback loop.

``ControlG`` is an estimator with scikit-learn's interface, ``evaluate`` scores embeddings, ``compare`` runs several methods,
``Scheduler`` is the feedback loop alone for your own training loop, and ``controlg.torch`` is the same for PyTorch.
"""

from ._callbacks import EarlyStopping, StopTraining
from ._compare import compare
from ._core import Graph, __version__
from ._estimator import ControlG, NotFittedError
from ._evaluate import evaluate
from ._graph import load_graph
from ._scheduler import Scheduler, audit

__all__ = [
    "ControlG",
    "EarlyStopping",
    "Graph",
    "NotFittedError",
    "Scheduler",
    "StopTraining",
    "__version__",
    "audit",
    "compare",
    "evaluate",
    "load_graph",
]
