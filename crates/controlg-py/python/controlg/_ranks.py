"""The ranks of one run that ``torchrun`` starts. PyTorch moves bytes between them and is imported only here."""

from __future__ import annotations

import importlib
import os
from typing import Any, Optional

import numpy as np


class TorchRanks:
    """The ranks of ``torch.distributed``, with the backend gloo."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._dist: Any = importlib.import_module("torch.distributed")
        self._dist.init_process_group("gloo")
        self.rank: int = self._dist.get_rank()
        self.size: int = self._dist.get_world_size()

    def gather(self, root: int, data: bytes) -> list[bytes]:
        """The bytes of all ranks on ``root``; nothing on the others."""
        if self.rank != root:
            self._dist.send(self._length(len(data)), root)
            if data:
                self._dist.send(self._buffer(data), root)
            return []
        return [data if rank == root else self._receive(rank) for rank in range(self.size)]

    def broadcast(self, root: int, data: bytes) -> bytes:
        """The bytes of ``root`` on all ranks."""
        length = self._length(len(data))
        self._dist.broadcast(length, root)
        buffer = self._buffer(data if self.rank == root else bytes(int(length)))
        if len(buffer):
            self._dist.broadcast(buffer, root)
        return bytes(buffer.numpy())

    def _receive(self, rank: int) -> bytes:
        length = self._length(0)
        self._dist.recv(length, rank)
        buffer = self._buffer(bytes(int(length)))
        if len(buffer):
            self._dist.recv(buffer, rank)
        return bytes(buffer.numpy())

    def _length(self, length: int) -> Any:
        return self._torch.from_numpy(np.array([length], dtype=np.int64))

    def _buffer(self, data: bytes) -> Any:
        """A tensor with a copy of the bytes, since tensors must be writable."""
        return self._torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


def of_torchrun() -> Optional[TorchRanks]:
    """The ranks if ``torchrun`` has started several, else None."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    return TorchRanks()
