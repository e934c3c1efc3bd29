"""The layers of docs/architecture.md hold: imports run downward, every module has its place, pure modules touch nothing."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
#: Modules that a pure module may not import, and calls it may not make.
WORLDLY = {
    "socket",
    "threading",
    "_thread",
    "time",
    "os",
    "yaml",
    "asyncio",
    "subprocess",
    "httpx",
    "httpx2",
    "logging",
    "sys",
}
CLOCKS = {"now", "utcnow", "today"}


def listed(name):
    block = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", PAGE, re.DOTALL)[1]
    return [re.findall(r"`([\w.*]+)`", line) for line in block.splitlines()]


LAYERS = listed("layers")
SHELLS = {name for line in listed("shells") for name in line}


def modules():
    """Every module of both packages, by its dotted name."""
    found = {}
    for package in ("conformance", "fake_models"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def fits(name, pattern):
    """`pkg.*` stands for a package and all its modules."""
    return name == pattern or (pattern.endswith(".*") and f"{name}.".startswith(pattern[:-1]))


def layer(name):
    """The layer of a module: the line with its own name, else the one whose pattern fits."""
    exact = [n for n, line in enumerate(LAYERS) if name in line]
    return exact or [n for n, line in enumerate(LAYERS) if any(fits(name, one) for one in line)]


def tree(name):
    return ast.parse(MODULES[name].read_text("utf-8"))


def imports(name, *, top=False):
    """Our own modules that a module imports, and all it imports from elsewhere."""
    code = tree(name)
    for node in code.body if top else ast.walk(code):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module


def test_every_module_stands_in_exactly_one_layer():
    placed = {name: layer(name) for name in MODULES}
    assert {name: at for name, at in placed.items() if len(at) != 1} == {}


def test_every_name_of_the_list_is_a_module():
    names = {one for line in LAYERS for one in line} | SHELLS
    assert {one for one in names if not any(fits(name, one) for name in MODULES)} == set()


@pytest.mark.parametrize("name", MODULES)
def test_imports_run_downward(name):
    here = layer(name)[0]
    # Inside a package that stands in one line as `pkg.*`, modules may use each other as long as they make no circle.
    upward = [
        one
        for one in imports(name)
        if one in MODULES and layer(one)[0] >= here and not (layer(one)[0] == here and same_room(name, one))
    ]
    assert upward == []


def same_room(one, other):
    shared = [pattern for pattern in LAYERS[layer(one)[0]] if pattern.endswith(".*")]
    return any(fits(one, pattern) and fits(other, pattern) for pattern in shared)


def test_no_modules_import_each_other_in_a_circle():
    graph = {name: {one for one in imports(name, top=True) if one in MODULES} - {name} for name in MODULES}
    while ready := [name for name, needs in graph.items() if not needs & graph.keys()]:
        for name in ready:
            del graph[name]
    assert graph == {}


def test_fake_models_knows_nothing_of_the_kit():
    assert [
        n for n in MODULES if n.startswith("fake_models") for one in imports(n) if one.startswith("conformance")
    ] == []


def test_targets_use_only_the_agents_side():
    used = {
        one
        for n in MODULES
        if n.startswith("conformance.targets")
        for one in imports(n)
        if one.startswith("conformance")
    }
    assert used <= {"conformance.agent_side"} | {n for n in MODULES if n.startswith("conformance.targets")}


@pytest.mark.parametrize("name", [n for n in MODULES if not any(fits(n, shell) for shell in SHELLS)])
def test_pure_modules_touch_no_world(name):
    assert {one.partition(".")[0] for one in imports(name)} & WORLDLY == set()
    calls = [
        node.func
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    assert [
        c.attr
        for c in calls
        if c.attr in CLOCKS and isinstance(c.value, ast.Name) and c.value.id in ("datetime", "date")
    ] == []
    assert [
        c.attr for c in calls if isinstance(c.value, ast.Name) and c.value.id == "random" and c.attr != "Random"
    ] == []


@pytest.mark.parametrize("name", [n for n in MODULES if not n.startswith(("conformance.cli", "conformance.targets"))])
def test_imports_stand_at_the_top_of_a_module_but_for_a_reason(name):
    source = MODULES[name].read_text("utf-8").splitlines()
    inner = {node.lineno for node in ast.walk(tree(name)) if isinstance(node, ast.Import | ast.ImportFrom)} - {
        node.lineno for node in tree(name).body if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert [source[n - 1] for n in inner if "noqa: PLC0415" not in source[n - 1]] == []


def test_every_package_is_packed():
    packed = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"])
    there = {name for name, path in MODULES.items() if path.name == "__init__.py"} | {"conformance.library"}
    assert packed == there
