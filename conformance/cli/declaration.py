"""What `--dialect` names: a word of on_limit, pairs of key and value, or a file of them."""

from pathlib import Path
from typing import Any

from conformance.dialect import ON_LIMIT, DialectError
from conformance.errors import LoadError, Problem, nearest
from conformance.loading.loader import read_data
from conformance.overrides import EXAMPLES, checked, form, typed


def declaration(name: str) -> dict[str, Any]:
    """
    The dialect keys that a name stands for.

    Raises:
        LoadError: it stands for none, or for keys that no dialect allows.
    """
    try:
        keys = typed(name)
        return keys if keys is not None else checked(_in_file(name))
    except DialectError as error:
        raise LoadError([Problem((), f"--dialect {name!r}: {error}")]) from error


def _in_file(name: str) -> dict[str, Any]:
    path = Path(name)
    if not path.is_file():
        near = nearest(name, ON_LIMIT)
        hint = "." if near is None else f"; did you mean {near!r}?"
        pairs = form({"empty_response": EXAMPLES["empty_response"], "on_limit": "stop"})
        ways = f"{', '.join(ON_LIMIT)}, pairs such as '{pairs}', or a YAML or JSON file of dialect keys"
        raise LoadError([Problem((), f"--dialect {name!r}: there is no such file{hint} Expected {ways}")])
    data = read_data(path)
    if not isinstance(data, dict):
        raise LoadError([Problem((), f"came {type(data).__name__}, expected an object of dialect keys", file=name)])
    return data
