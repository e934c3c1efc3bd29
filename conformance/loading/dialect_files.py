"""Files of dialect keys: those that come with the kit, each with a reason, and those that people write or `--fit` prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from conformance.dialect import DialectError, dialect
from conformance.errors import LoadError, Problem, guess
from conformance.loading.loader import read_data, read_text

_KEYS = ("title", "why", "links", "dialect")


@dataclass(frozen=True, slots=True)
class Described:
    """A named dialect. `keys` are what it says, which is not all that there is; `text` is its file's."""

    name: str
    title: str
    why: str
    links: tuple[str, ...]
    keys: Mapping[str, Any]
    text: str


def names() -> tuple[str, ...]:
    """The names of the dialects that come with the kit."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def described(name: str) -> Described:
    """
    The dialect of this name that comes with the kit.

    Raises:
        LoadError: there is none, or its file cannot be read.
    """
    if name not in names():
        raise LoadError([Problem((), f"there is no dialect {name!r}{guess(name, names())}")])
    path = _folder() / f"{name}.yaml"
    data = read_data(path)
    keys = keys_of(data, str(path))
    text = " ".join(data["why"].split())
    return Described(name, data["title"], text, tuple(data.get("links", ())), keys, read_text(path))


def in_file(path: Path) -> dict[str, Any]:
    """
    The dialect keys in a file: an object of them, or one that has them under `dialect`, beside title, why and links.

    Raises:
        LoadError: the file cannot be read, or holds something else.
    """
    return keys_of(read_data(path), str(path))


def keys_of(data: Any, name: str) -> dict[str, Any]:
    """The same of data that is read already; `name` is what errors call it."""
    if isinstance(data, dict) and "dialect" in data:
        odd = next((key for key in data if key not in _KEYS), None)
        if odd is not None:
            message = f"came the key {odd!r} beside 'dialect'{guess(str(odd), _KEYS)}"
            raise LoadError([Problem((), message, file=name)])
        data = data["dialect"]
    if not isinstance(data, dict):
        raise LoadError([Problem((), f"came {type(data).__name__}, expected an object of dialect keys", file=name)])
    try:
        dialect(data)
    except DialectError as error:
        raise LoadError([Problem((), str(error), file=name)]) from error
    return data


def _folder() -> Path:
    return Path(str(files("conformance.dialects")))
