"""The scheduler for a PyTorch loop. It measures losses, gradients and Rayleigh quotients itself.

::

    losses = {"link": link_loss, "rebuild": rebuild_loss}  # each returns (loss, node representations)
    scheduler = controlg.torch.Scheduler(losses, encoder.parameters(), data.edge_index, record="record.jsonl")
    for step in range(1000):
        loss, _ = losses[scheduler.next()]()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Measurements use fixed seeds for torch, Python and NumPy and restore the generators afterwards: a loss that samples is
measured on the same sample each time, and the random draws of your loop do not change. Running statistics of
normalization layers are restored as well.

Under ``torch.distributed`` all ranks draw the same objective: measurements are averaged over the ranks, rank 0 broadcasts its
state when a scheduler is created or loaded, and only rank 0 writes the record.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parameter import is_lazy

from ._scheduler import Scheduler as _Scheduler

#: Returns a loss and its node representations, or the loss alone if all objectives share the representations.
Closure = Callable[[], Union[Tensor, "tuple[Tensor, Tensor]"]]

__all__ = ["Rayleigh", "Scheduler", "measure"]


class Rayleigh:
    """The Rayleigh quotient tr(Hᵀ L H) / ‖H‖² of a node signal H with the normalized Laplacian L, from 0 to 2."""

    def __init__(self, edge_index: Tensor) -> None:
        source, target = edge_index.min(dim=0).values, edge_index.max(dim=0).values
        pairs = torch.unique(torch.stack([source, target])[:, source != target], dim=1)
        self._pairs = pairs  # each undirected edge once, no self-loops

    def __call__(self, signal: Tensor) -> float:
        source, target = self._pairs.to(signal.device)
        h = signal.detach().reshape(signal.shape[0], -1).double()
        degree = torch.bincount(torch.cat([source, target]), minlength=h.shape[0]).double()
        scaled = h / degree.clamp(min=1).sqrt().unsqueeze(1)
        energy = 0.0
        # In chunks: the differences along all edges could take more memory than the model.
        for u, v in zip(source.split(1 << 16), target.split(1 << 16)):
            energy += (scaled[u] - scaled[v]).square().sum().item()
        # Losses are means over nodes, so the norm may be tiny; the epsilon must be far smaller.
        return energy / (h.square().sum().item() + 1e-12)


@contextmanager
def _frozen_streams(seed: int) -> Iterator[None]:
    """Seeds all generators inside the block and restores them afterwards."""
    # manual_seed affects every device.
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    of_python, of_numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # NumPy accepts 32-bit seeds only
        try:
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)


@contextmanager
def _restored_statistics() -> Iterator[None]:
    """Restores the running statistics of normalization layers that are called inside the block."""
    kept: dict[Tensor, Tensor] = {}

    def keep(module: torch.nn.Module, _: Any) -> None:
        if isinstance(module, _NormBase):
            for buffer in module.buffers(recurse=False):
                if buffer not in kept and not is_lazy(buffer):
                    kept[buffer] = buffer.detach().clone()

    hook = register_module_forward_pre_hook(keep)
    try:
        yield
    finally:
        hook.remove()
        for buffer, value in kept.items():
            buffer.data.copy_(value)  # through ``data``: autograd may still need the layer


@_restored_statistics()
def measure(
    closures: Sequence[Closure],
    parameters: Sequence[Tensor],
    rayleigh: Rayleigh,
    embedding: Optional[Tensor] = None,
) -> tuple[list[float], list[list[float]], list[float]]:
    """Losses, inner products of the parameter gradients, and Rayleigh quotients of the representation gradients.

    ``embedding`` holds the representations for closures that return the loss alone. Gradients and running statistics
    are left unchanged.
    """
    losses: list[float] = []
    quotients: list[float] = []
    rows: list[Tensor] = []
    for closure in closures:
        given = closure()
        loss, z = given if isinstance(given, tuple) else (given, embedding)
        if z is None:
            raise ValueError("closure: found a loss alone, expected (loss, embedding) or a shared embedding")
        retain = embedding is not None
        grads = torch.autograd.grad(loss, [z, *parameters], retain_graph=retain, allow_unused=True)
        at_z = grads[0] if grads[0] is not None else torch.zeros_like(z)
        flat = [(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(grads[1:], parameters)]
        losses.append(float(loss.detach()))
        quotients.append(rayleigh(at_z))
        rows.append(torch.cat(flat))
    products = [[float(torch.dot(a.double(), b.double())) for b in rows] for a in rows]
    return losses, products, quotients


class Scheduler(_Scheduler):
    """A ``controlg.Scheduler`` that measures by itself whenever a measurement is due.

    closures : by objective. Each returns ``(loss, embedding)``, or the loss alone if ``embedding`` is passed.
    parameters : the shared parameters, those of the encoder.
    edge_index : 2 × E, as in PyTorch Geometric.
    embedding : returns the representations that the closures share; called once per measurement, before them.
    group : the process group; by default all ranks if ``torch.distributed`` is initialized.

    The other parameters are those of ``controlg.Scheduler``.
    """

    def __init__(
        self,
        closures: Mapping[str, Closure],
        parameters: Iterable[Tensor],
        edge_index: Tensor,
        *,
        embedding: Optional[Callable[[], Tensor]] = None,
        group: Any = None,
        record: Any = None,
        state: Optional[Mapping[str, Any]] = None,
        random_state: int = 0,
        **settings: Any,
    ) -> None:
        self._seed = random_state
        self._closures = list(closures.values())
        self._parameters = [p for p in parameters if p.requires_grad]
        self._rayleigh = Rayleigh(edge_index)
        self._embedding = embedding
        self._group = group
        record, state = record if self._leads() else None, self._from_first(state)
        super().__init__(list(closures), record=record, state=state, random_state=random_state, **settings)
        fresh = self._from_first(self.state_dict())
        if not self._leads():
            super().load_state_dict(fresh)

    def next(self, steps: int = 1) -> str:
        """The objective of the next block; measures first if a measurement is due."""
        if self.due():
            self.read()
        return super().next(steps)

    def read(self) -> dict[str, Any]:
        """Measures now and updates the plan. A measurement must be due."""
        losses, products, quotients = self._measured()
        return self.sense(losses, gram=products, rayleigh=quotients)

    def warm_up(self, losses: Any = None) -> None:
        """Records the losses before training and after each warm-up round; measures them if they are not passed."""
        if losses is None:
            losses = self._measured()[0]
        super().warm_up(losses)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores a ``state_dict``; that of rank 0 wins."""
        super().load_state_dict(self._from_first(state))

    def _measured(self) -> Any:
        """The measurements averaged over ranks."""
        with _frozen_streams(int(self._seed)), _restored_statistics():
            z = None if self._embedding is None else self._embedding()
            return self._agreed(*measure(self._closures, self._parameters, self._rayleigh, z))

    def _ranks(self) -> bool:
        return dist.is_available() and dist.is_initialized()

    def _leads(self) -> bool:
        return not self._ranks() or dist.get_rank(self._group) == 0

    def _first(self) -> int:
        return 0 if self._group is None else dist.get_global_rank(self._group, 0)

    def _from_first(self, state: Any) -> Any:
        """The value of rank 0 on every rank."""
        if not self._ranks():
            return state
        box = [state]
        dist.broadcast_object_list(box, src=self._first(), group=self._group)
        return box[0]

    def _agreed(self, losses: list[float], products: list[list[float]], quotients: list[float]) -> Any:
        """The mean over ranks, bit-identical on each."""
        if not self._ranks():
            return losses, products, quotients
        k = len(losses)
        device = "cuda" if dist.get_backend(self._group) == "nccl" else "cpu"
        rows = torch.tensor([losses, quotients, *products], dtype=torch.float64, device=device)
        dist.all_reduce(rows, group=self._group)
        rows /= dist.get_world_size(self._group)
        dist.broadcast(rows, src=self._first(), group=self._group)
        rows = rows.cpu()
        return rows[0].tolist(), rows[2 : 2 + k].tolist(), rows[1].tolist()
