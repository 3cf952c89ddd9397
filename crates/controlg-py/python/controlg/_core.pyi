from os import PathLike
from typing import Any, Callable, Optional, Union, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "__version__",
    "Graph",
    "RecordedScheduler",
    "settings",
    "check",
    "resolve",
    "described",
    "fit",
    "choose",
    "embed",
    "save",
    "load",
    "evaluate",
    "compared",
    "audit",
    "main",
]

__version__: str

_Path = Union[str, PathLike[str]]
_Run = tuple[str, str, bytes, NDArray[np.float32], Optional[list[str]], bool]
_Sparse = tuple[tuple[int, int], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]
_Split = tuple[str, int, list[int], list[int], list[int]]

@final
class Graph:
    """A graph with features, and labels and splits if its files have them."""

    @staticmethod
    def load(name: str, data_dir: Optional[_Path], structural: bool, directed: bool) -> Graph: ...
    @staticmethod
    def from_arrays(
        edges: NDArray[np.int64],
        weights: Optional[NDArray[np.float32]],
        n_nodes: Optional[int],
        dense: Optional[NDArray[np.float32]],
        sparse: Optional[_Sparse],
        feature_names: Optional[list[str]],
        ids: Optional[list[str]],
        labels: Optional[list[int]],
        splits: list[_Split],
        notes: list[str],
        structural: bool,
        directed: bool,
    ) -> Graph: ...
    @staticmethod
    def from_types(
        types: list[tuple[str, Optional[int], Optional[NDArray[np.float32]], Optional[_Sparse]]],
        relations: list[tuple[str, str, str, NDArray[np.int64]]],
        labels: Optional[list[int]],
        splits: list[_Split],
        directed: bool,
        structural: bool,
    ) -> Graph: ...
    @property
    def schema(self) -> Optional[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def feature_names(self) -> Optional[list[str]]: ...
    @property
    def has_features_from_edges(self) -> bool: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def ids(self) -> Optional[list[str]]: ...
    @property
    def edge_index(self) -> NDArray[np.int64]: ...
    @property
    def x(self) -> NDArray[np.float32]: ...
    @property
    def labels(self) -> Optional[NDArray[np.int64]]: ...
    @property
    def splits(self) -> list[dict[str, Any]]: ...

@final
class RecordedScheduler:
    def __new__(cls, tasks: list[str], settings: str, record: Optional[_Path]) -> RecordedScheduler: ...
    @staticmethod
    def restore(saved: str, record: Optional[_Path]) -> RecordedScheduler: ...
    def save(self) -> str: ...
    def warm_up(self, losses: list[float]) -> None: ...
    def due(self) -> bool: ...
    def sense(self, losses: list[float], gram: list[list[float]], rayleigh: list[float]) -> str: ...
    def next(self, steps: int) -> int: ...
    @property
    def tasks(self) -> list[str]: ...
    @property
    def shares(self) -> list[float]: ...

def settings() -> str: ...
def check(settings: str) -> None: ...
def resolve(settings: str) -> str: ...
def described(config: str) -> str: ...
def fit(
    graph: Graph, settings: str, threads: Optional[int], watch: Optional[Callable[[int, int, str], object]]
) -> tuple[_Run, bool]: ...
def choose(
    graph: Graph, settings: str, folder: _Path, threads: Optional[int], say: Optional[Callable[[str], object]]
) -> str: ...
def embed(config: str, model: bytes, graph: Graph, threads: Optional[int]) -> NDArray[np.float32]: ...
def save(
    folder: _Path,
    config: str,
    record: str,
    model: bytes,
    embeddings: NDArray[np.float32],
    ids: Optional[list[str]],
    overwrite: bool,
) -> None: ...
def load(folder: _Path) -> _Run: ...
def evaluate(
    task: str,
    embeddings: NDArray[np.float32],
    labels: Optional[list[int]],
    splits: Optional[list[_Split]],
    protocol: Optional[str],
    seed: int,
    probe: tuple[str, str],
    graph: Optional[Graph],
    threads: Optional[int],
) -> str: ...
def compared(folder: _Path) -> str: ...
def audit(run: _Path) -> str: ...
def main(typed: list[str], again: list[str], ranks: Any = None) -> int: ...
