"""openai 1.x is built on httpx, openai 3 on httpx2; one environment cannot show both, so this test makes one for the former."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = ("openai==1.109.1", "httpx==0.28.1", "pydantic==2.14.4")


def python_of(environment):
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def environment_with_openai_1():
    """Made aside and moved into place, so that it is whole or absent; of two that make it at once the second gives way."""
    place = Path(sys.prefix) / "openai-1"
    if not place.exists():
        aside = place.with_name(f"openai-1-{uuid.uuid4().hex}")
        try:
            subprocess.run([sys.executable, "-m", "venv", aside], check=True)
            subprocess.run([python_of(aside), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
            aside.rename(place)
        except OSError:
            if not place.exists():
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return place


def test_openai_1_on_httpx_hears_streams_cuts_and_calls_as_openai_3_does():
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE)])
    ran = subprocess.run(
        [python_of(environment_with_openai_1()), HERE / "openai_1x_script.py"],
        env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )

    assert ran.returncode == 0, ran.stderr
    calls = [["c1", "f", '{"x":"时"}'], ["c2", "g", "{bad"]]
    assert json.loads(ran.stdout) == {
        "openai": "1.109.1",
        "httpx2": False,
        "streaming": "时间",
        "async streaming": "时间",
        "cut": "he",
        "reset": ["he", "ReadError"],
        "calls": calls,
        "streamed calls": calls,
        "retried": "hello",
    }
