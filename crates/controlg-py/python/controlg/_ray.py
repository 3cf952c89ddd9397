"""Runs the jobs of ``controlg compare --engine ray`` as Ray tasks: ``python -m controlg._ray [ADDRESS]``.

Reads one task per line from stdin and writes one reply per line to stdout, both JSON. The first reply tells whether there is
a cluster. Ray is imported only here.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from queue import Queue
from typing import Any, Optional

#: How often a job is started. One that fails every time is reported.
STARTS = 2


def run_job(spec: str) -> str:
    """Runs a job on a worker and returns what it prints."""
    command = [sys.executable, "-m", "controlg", "run-job", "--json", "--quiet"]
    # The job ends if the worker is killed, so that it can start again elsewhere.
    environment = {**os.environ, "CONTROLG_PARENT": str(os.getpid())}
    done = subprocess.run(command, input=spec, capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"run-job ended with {done.returncode}"]
        raise RuntimeError(lines[-1].removeprefix("controlg: "))
    return done.stdout


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
        ray.init(address=address, log_to_driver=False, logging_level="error")
        return
    try:
        ray.init(address="auto", log_to_driver=False, logging_level="error")
    except ConnectionError:
        ray.init(**quiet)


def _run_all(ray: Any, replies: Any) -> None:
    """Starts tasks as they come and replies as they end, until nobody waits for replies."""
    # A task whose worker dies is started again here, as one that fails.
    remote = ray.remote(max_retries=0)(run_job)
    new: Queue[Optional[dict[str, Any]]] = Queue()
    threading.Thread(target=_read_tasks, args=(new,), daemon=True).start()
    running: dict[Any, tuple[dict[str, Any], int]] = {}
    while True:
        while not new.empty() or not running:
            task = new.get()
            if task is None:
                ray.shutdown()
                return
            if missing := _missing(ray, task):
                _reply(replies, id=task["id"], error=missing)
            else:
                running[_start(ray, remote, task)] = (task, 1)
        for reference in ray.wait(list(running), timeout=0.1)[0]:
            task, starts = running.pop(reference)
            try:
                _reply(replies, id=task["id"], output=ray.get(reference))
            except Exception as error:  # of the job, or of Ray about a lost worker
                if starts < STARTS:
                    running[_start(ray, remote, task)] = (task, starts + 1)
                else:
                    _reply(replies, id=task["id"], error=f"failed twice: {_reason(error)}")


def _missing(ray: Any, task: dict[str, Any]) -> Optional[str]:
    """What no node has for a task, which Ray would let wait forever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(node.get("CPU", 0) >= task["cpus"] and node.get("memory", 0) >= task["memory"] for node in nodes):
        return None
    return f"no node of the cluster has {task['cpus']} CPUs and {task['memory'] / 1e6:.0f} MB of memory"


def _start(ray: Any, remote: Any, task: dict[str, Any]) -> Any:
    options = {"num_cpus": task["cpus"], "memory": task["memory"], "name": task["title"]}
    return remote.options(**options).remote(task["spec"])


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
