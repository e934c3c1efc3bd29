"""
Scenario files: found, read, checked and built. Decides nothing about their contents; that is the schema's and the lint's.

Whatever a file holds, what comes out is a Scenario or a LoadError.
"""

import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from conformance.errors import LoadError, Problem, guess, nearest
from conformance.loading import lint, plain_yaml, schema_check
from conformance.loading.plain_yaml import Document
from conformance.scenario import Scenario, scenario

#: Largest scenario file. The longest ones of the kit have some 10 KB; what is larger was named by mistake.
MAX_BYTES = 1024 * 1024

#: Endings of scenario files.
ENDINGS = (".yaml", ".yml")


def load(path: Path, *, rule_ids: Collection[str] | None = None) -> Scenario:
    """
    The scenario in a file. With `rule_ids` the lint speaks too; without, only what the format forbids is refused.

    Raises:
        LoadError: with every problem of the file.
    """
    return _built(read_text(path), str(path), rule_ids, path.stem)


def load_all(paths: Iterable[Path], *, rule_ids: Collection[str] | None = None) -> tuple[Scenario, ...]:
    """
    The scenarios in these files, in order.

    Raises:
        LoadError: with the problems of all files.
    """
    loaded: list[Scenario] = []
    errors: list[Problem] = []
    for path in paths:
        try:
            loaded.append(load(path, rule_ids=rule_ids))
        except LoadError as error:
            errors += error.errors
    if errors:
        raise LoadError(errors)
    return tuple(loaded)


def load_text(text: str, name: str, *, rule_ids: Collection[str] | None = None) -> Scenario:
    """
    The scenario that a text holds; `name` is what errors call it.

    Raises:
        LoadError: with every problem of the text.
    """
    return _built(text, name, rule_ids, None)


def read_data(path: Path) -> Any:
    """
    What a YAML or JSON file of another kind holds, as plain data.

    Raises:
        LoadError: it cannot be read.
    """
    return plain_yaml.read(read_text(path), str(path)).data


def bundled() -> tuple[Path, ...]:
    """The files of the scenarios that come with the kit, by path."""
    return _under(library())


def library() -> Path:
    """The folder of the scenarios that come with the kit."""
    try:
        return Path(str(files("conformance.library")))
    except ModuleNotFoundError:
        # A checkout that is not installed: the wheel's package `conformance.library` is this folder.
        return Path(__file__).parent.parent / "scenarios"


def find(selectors: Sequence[str], dirs: Sequence[Path]) -> tuple[Path, ...]:
    """
    The files that these selectors name, each once: a file's path, a folder (all below it), or the id of a scenario in `dirs`.

    No selector names everything in `dirs`.

    Raises:
        LoadError: a selector names nothing, or two files claim one id.
    """
    known = [path for folder in dirs for path in _under(folder)]
    found: list[Path] = []
    errors: list[Problem] = []
    for selector in selectors:
        paths = _selected(selector, known)
        if not paths:
            errors.append(Problem((), _unselected(selector, sorted({path.stem for path in known}))))
        found += paths
    by_file = {path.resolve(): path for path in (found if selectors else known)}
    by_id: dict[str, Path] = {}
    errors += [
        Problem((), f"id {path.stem!r} is also that of {first}; rename one of them", file=str(path))
        for path in by_file.values()
        if (first := by_id.setdefault(path.stem, path)) is not path
    ]
    if errors:
        raise LoadError(errors)
    return tuple(by_file.values())


def _unselected(selector: str, ids: Sequence[str]) -> str:
    try:
        folder = bool(selector) and Path(selector).is_dir()
    except OSError:
        folder = False
    if folder:
        return f"the folder {selector!r} holds no scenario; expected files that end in {' or '.join(ENDINGS)}"
    more = f"; `conformance scenarios` lists the {len(ids)} that there are" if nearest(selector, ids) is None else ""
    return f"no file, folder or scenario id has the name {selector!r}{more or guess(selector, ids)}"


def _selected(selector: str, known: Sequence[Path]) -> list[Path]:
    path = Path(selector)
    try:
        if named := [one for one in known if one.stem == selector]:
            return named
        if path.is_dir() and selector:
            return list(_under(path))
        return [path] if path.is_file() else []
    except OSError:
        # A word too long for a file's name names no file.
        return []


def _under(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS and path.is_file()))


def read_text(path: Path) -> str:
    """
    A file's text; a large file, a device or a pipe is refused before it is opened.

    Raises:
        LoadError: it cannot be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _file_error(path, "this is no regular file; name a scenario file or a folder of them")
        if status.st_size > MAX_BYTES:
            raise _file_error(
                path, f"the file has {status.st_size} bytes, expected at most {MAX_BYTES}; is it a scenario?"
            )
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start : error.start + 1]
        raise _file_error(path, f"byte {byte!r} is not UTF-8; save the file as UTF-8", line) from None
    except (OSError, ValueError) as error:
        raise _file_error(path, f"the file cannot be read: {error}") from None


def _built(text: str, name: str, rule_ids: Collection[str] | None, stem: str | None) -> Scenario:
    document = plain_yaml.read(text, name)
    _refuse(schema_check.problems(document.data), document, name)
    built = scenario(document.data)
    problems = [] if rule_ids is None else lint.problems(built, rule_ids)
    if stem not in (None, built.id):
        message = f"came {built.id!r}, expected {stem!r}: a scenario's id is its file's name; rename one of them"
        problems.append(Problem(("id",), message))
    _refuse(problems, document, name)
    return built


def _file_error(path: Path, message: str, line: int | None = None) -> LoadError:
    return LoadError([Problem((), message, file=str(path), line=line)])


def _refuse(problems: Sequence[Problem], document: Document, name: str) -> None:
    if problems:
        placed = [_placed(problem, document, name) for problem in problems]
        raise LoadError(sorted(placed, key=lambda problem: (problem.line or 0, problem.column or 0)))


def _placed(problem: Problem, document: Document, name: str) -> Problem:
    line, column = document.place(problem.path, on_key=problem.on_key)
    return replace(problem, file=name, line=line, column=column)
