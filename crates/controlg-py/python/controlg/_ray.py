"""Runs the jobs of ``controlg compare --engine ray`` as Ray tasks: ``python -m controlg._ray [ADDRESS]``.

Reads one task per line from stdin and writes one reply per line to stdout, both JSON. The first reply tells whether there is
a cluster. Ray is imported only here. The files of a graph go into the object store when a task finds that its node does not see
them; the first task of the node that gets them writes them to its temporary folder.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from queue import Queue
from typing import Any, Optional

import numpy as np

#: How often a job is started. One that fails every time is reported.
STARTS = 2


def run_job(spec: str, data: Optional[dict[str, Any]], copy: Optional[tuple[str, Any]]) -> Optional[str]:
    """Runs a job on a worker and returns what it prints; ``None`` if its data is neither here nor in ``copy``."""
    command = [sys.executable, "-m", "controlg", "run-job", "--json", "--quiet"]
    if data is not None:
        folder = data["folder"]
        if stamps(data) != data["stamps"]:
            if copy is None:
                return None
            folder = unpack(*copy)
        command += ["--data-copy", os.path.join(folder, data["entry"])]
    # The job ends if the worker is killed, so that it can start again elsewhere.
    environment = {**os.environ, "CONTROLG_PARENT": str(os.getpid())}
    done = subprocess.run(command, input=spec, capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"run-job ended with {done.returncode}"]
        raise RuntimeError(lines[-1].removeprefix("controlg: "))
    return done.stdout


def stamps(data: dict[str, Any]) -> Optional[list[list[int]]]:
    """Sizes and times of the files, by which a node knows that it sees those of the driver."""
    try:
        found = [os.stat(os.path.join(data["folder"], name)) for name in data["files"]]
    except OSError:
        return None
    return [[file.st_size, file.st_mtime_ns] for file in found]


def pack(ray: Any, data: dict[str, Any]) -> tuple[str, Any]:
    """Puts the files into the object store. Returns their digest and a reference."""
    files = {name: np.fromfile(os.path.join(data["folder"], name), dtype=np.uint8) for name in data["files"]}
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{len(name)} {name} {len(content)} ".encode())
        digest.update(content.data)
    return digest.hexdigest(), ray.put(files)


def unpack(digest: str, reference: Any) -> str:
    """The folder with the files on this node, which its first task writes."""
    import fcntl  # not on Windows, where Ray has no clusters

    copies = Path(tempfile.gettempdir()) / f"controlg-{os.getuid()}"
    copies.mkdir(mode=0o700, exist_ok=True)
    folder = copies / digest
    with open(copies / f"{digest}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            new = Path(tempfile.mkdtemp(dir=copies))
            ray: Any = importlib.import_module("ray")
            for name, content in ray.get(reference).items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                content.tofile(new / name)
            new.rename(folder)
    return str(folder)


def main() -> int:
    # Ctrl-C ends the comparison, whose end ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ray and its workers print to stdout, which is for replies alone.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        _reply(replies, error="Ray is not installed: pip install controlg[ray]")
        return 2
    try:
        _connect(ray, sys.argv[1] if len(sys.argv) > 1 else None)
    except Exception as error:  # whatever Ray raises
        _reply(replies, error=_reason(error))
        return 2
    _reply(replies)
    _run_all(ray, replies)
    return 0


def _connect(ray: Any, address: Optional[str]) -> None:
    """Connects to the cluster at an address; without one, to the running cluster of this machine, or starts one."""
    quiet = {"log_to_driver": False, "logging_level": "error", "include_dashboard": False}
    if address is not None:
        _check_reachable(address)
        ray.init(address=address, log_to_driver=False, logging_level="error")
        return
    try:
        ray.init(address="auto", log_to_driver=False, logging_level="error")
    except ConnectionError:
        ray.init(**quiet)


def _check_reachable(address: str) -> None:
    """Fails if nobody listens at HOST:PORT, where Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise ConnectionError(f"nobody listens at {address} ({error.strerror or error})") from None


def _run_all(ray: Any, replies: Any) -> None:
    """Starts tasks as they come and replies as they end, until nobody waits for replies."""
    # A task whose worker dies is started again here, as one that fails.
    remote = ray.remote(max_retries=0)(run_job)
    new: Queue[Optional[dict[str, Any]]] = Queue()
    threading.Thread(target=_read_tasks, args=(new,), daemon=True).start()
    running: dict[Any, tuple[dict[str, Any], int]] = {}
    copies: dict[Any, tuple[str, Any]] = {}

    def start(task: dict[str, Any]) -> Any:
        options = {"num_cpus": task["cpus"], "memory": task["memory"], "name": task["title"]}
        # A reference in a tuple is fetched only by the tasks that ask for it.
        return remote.options(**options).remote(task["spec"], task["data"], copies.get(_key(task)))

    while True:
        while not new.empty() or not running:
            task = new.get()
            if task is None:
                ray.shutdown()
                return
            if missing := _missing(ray, task):
                _reply(replies, id=task["id"], error=missing)
            else:
                if task["data"]:
                    task["data"]["stamps"] = stamps(task["data"])
                running[start(task)] = (task, 1)
        for reference in ray.wait(list(running), timeout=0.1)[0]:
            task, starts = running.pop(reference)
            try:
                output = ray.get(reference)
                if output is None:
                    copies[_key(task)] = copies.get(_key(task)) or pack(ray, task["data"])
                    running[start(task)] = (task, starts)
                else:
                    _reply(replies, id=task["id"], output=output)
            except Exception as error:  # of the job, or of Ray about a lost worker
                if starts < STARTS:
                    running[start(task)] = (task, starts + 1)
                else:
                    _reply(replies, id=task["id"], error=f"failed twice: {_reason(error)}")


def _key(task: dict[str, Any]) -> Any:
    return task["data"] and (task["data"]["folder"], *task["data"]["files"])


def _missing(ray: Any, task: dict[str, Any]) -> Optional[str]:
    """What no node has for a task, which Ray would let wait forever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(node.get("CPU", 0) >= task["cpus"] and node.get("memory", 0) >= task["memory"] for node in nodes):
        return None
    return f"no node of the cluster has {task['cpus']} CPUs and {task['memory'] / 1e6:.0f} MB of memory"


def _read_tasks(new: Queue[Optional[dict[str, Any]]]) -> None:
    for line in sys.stdin:
        new.put(json.loads(line))
    new.put(None)


def _reply(replies: Any, **fields: Any) -> None:
    replies.write(json.dumps(fields) + "\n")
    replies.flush()


def _reason(error: BaseException) -> str:
    """The first line of what went wrong: of the cause, if a task raised it."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines() or [type(cause).__name__]
    return lines[0]


if __name__ == "__main__":
    sys.exit(main())
