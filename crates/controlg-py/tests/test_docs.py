"""Runs the Python blocks of README.md and of the manual that are marked with ``<!-- run -->``."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

#: The repository; `./test` names it, since the tests run outside of it.
ROOT = Path(os.environ.get("CONTROLG_REPOSITORY", Path(__file__).resolve().parents[3]))
BLOCK = re.compile(r"^<!-- run -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs" / "src").glob("*.md"))] if path.exists()]


@pytest.mark.skipif(not PAGES, reason="the repository's documents are not here")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_marked_blocks_run(page, tmp_path):
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks or page.name != "README.md"
    if any("torch" in block for block in blocks):
        pytest.importorskip("torch", reason="torch is not installed: the PyTorch blocks are not run")
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
