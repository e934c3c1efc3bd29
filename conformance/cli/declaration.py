"""What `--dialect` names: a word of on_limit, pairs of key and value, a dialect of the kit, or a file of keys."""

from pathlib import Path
from typing import Any

from conformance.dialect import ON_LIMIT, DialectError
from conformance.errors import LoadError, Problem, nearest
from conformance.loading.dialect_files import described, in_file, names
from conformance.overrides import EXAMPLES, form, typed


def declaration(name: str) -> dict[str, Any]:
    """
    The dialect keys that a name stands for.

    Raises:
        LoadError: it stands for none, or for keys that no dialect allows.
    """
    try:
        keys = typed(name)
    except DialectError as error:
        raise LoadError([Problem((), f"--dialect {name!r}: {error}")]) from error
    if keys is not None:
        return keys
    return dict(described(name).keys) if name in names() else _in_file(name)


def _in_file(name: str) -> dict[str, Any]:
    path = Path(name)
    if _exists(path) and not path.is_file():
        what = "a folder" if path.is_dir() else "no regular file"
        raise LoadError(
            [Problem((), f"--dialect {name!r}: this is {what}, expected a YAML or JSON file of dialect keys")]
        )
    if not path.is_file():
        near = nearest(name, (*ON_LIMIT, *names()))
        hint = "." if near is None else f"; did you mean {near!r}?"
        pairs = form({"empty_response": EXAMPLES["empty_response"], "on_limit": "stop"})
        ways = f"{', '.join(ON_LIMIT)}, pairs such as '{pairs}', a name of `conformance dialects`, or a YAML or JSON file of dialect keys"
        raise LoadError([Problem((), f"--dialect {name!r}: there is no such file{hint} Expected {ways}")])
    return in_file(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # A word too long for a file's name names no file.
        return False
