"""The layers of docs/architecture.md hold: imports run downward, every module has its place, pure modules touch nothing."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

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


@cache
def layer(name):
    """The layer of a module: the line with its own name, else the one whose pattern fits."""
    exact = [n for n, line in enumerate(LAYERS) if name in line]
    return exact or [n for n, line in enumerate(LAYERS) if any(fits(name, one) for one in line)]


@cache
def tree(name):
    return ast.parse(MODULES[name].read_text("utf-8"))


@cache
def nodes(name):
    return tuple(ast.walk(tree(name)))


@cache
def imports(name, *, top=False):
    """Our own modules that a module imports, and all it imports from elsewhere."""
    return tuple(_imports(tree(name).body if top else nodes(name)))


def _imports(code):
    for node in code:
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


def test_imports_run_downward():
    # Inside a package that stands in one line as `pkg.*`, modules may use each other as long as they make no circle.
    upward = [
        (name, one)
        for name in MODULES
        for one in imports(name)
        if one in MODULES and layer(one)[0] >= layer(name)[0] and not same_room(name, one)
    ]
    assert upward == []


def same_room(one, other):
    """Whether two modules stand in one line, and there in one package."""
    if layer(one) != layer(other):
        return False
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
    assert used <= {"conformance.agent_side", "conformance.agent_side.told"} | {
        n for n in MODULES if n.startswith("conformance.targets")
    }


PURE = [name for name in MODULES if not any(fits(name, shell) for shell in SHELLS)]


def test_pure_modules_import_nothing_of_the_world():
    assert [(name, one) for name in PURE for one in imports(name) if one.partition(".")[0] in WORLDLY] == []


def called(name):
    """What a module calls as an attribute of a name: both."""
    for node in nodes(name):
        match node:
            case ast.Call(func=ast.Attribute(attr=attribute, value=ast.Name(id=of))):
                yield of, attribute


def test_pure_modules_read_no_clock_and_no_chance():
    clocks = {(of, clock) for of in ("datetime", "date") for clock in CLOCKS}
    calls = [(name, one) for name in PURE for one in called(name)]
    assert len(calls) > 1000
    assert [(name, one) for name, one in calls if one in clocks] == []
    assert [(name, one) for name, one in calls if one[0] == "random" and one[1] != "Random"] == []


def test_imports_stand_at_the_top_of_a_module_but_for_a_reason():
    inner = []
    for name in (one for one in MODULES if not one.startswith(("conformance.cli", "conformance.targets"))):
        source = MODULES[name].read_text("utf-8").splitlines()
        lines = {node.lineno for node in nodes(name) if isinstance(node, ast.Import | ast.ImportFrom)}
        top = {node.lineno for node in tree(name).body if isinstance(node, ast.Import | ast.ImportFrom)}
        inner += [(name, source[n - 1]) for n in lines - top if "noqa: PLC0415" not in source[n - 1]]
    assert inner == []


def test_every_package_is_packed():
    packed = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"])
    there = {name for name, path in MODULES.items() if path.name == "__init__.py"} | {"conformance.library"}
    assert packed == there
