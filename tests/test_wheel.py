"""An installed kit has its scenarios, its dialects, its schema and both packages with no checkout beside it."""

import subprocess
import sys
from pathlib import Path

from conformance.loading.loader import bundled

ROOT = Path(__file__).parents[1]
#: Looks at what the unpacked wheel holds, not at this checkout, whose editable install stands on the path as well.
LOOK = """
import sys
sys.path.insert(0, sys.argv[1])
import conformance, fake_models
from conformance.loading.loader import bundled, load_all
from conformance.loading.dialect_files import described, names
from conformance.rules import BY_ID
assert conformance.__file__.startswith(sys.argv[1]) and fake_models.__file__.startswith(sys.argv[1])
paths = bundled()
assert all(str(path).startswith(sys.argv[1]) for path in paths)
load_all(paths, rule_ids=BY_ID)
assert "recommended" in names() and all(described(name).keys for name in names())
print("\\n".join(sorted(path.name for path in paths)))
"""


def test_a_wheel_brings_every_scenario_along(tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = tmp_path / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)], check=True)
    seen = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path / "site")], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert seen.stdout.split() == sorted(path.name for path in bundled())
