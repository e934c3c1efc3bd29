"""
What can go wrong between a script and the agent that plays it.

- `ScriptError`: the script itself cannot be played (an unresolvable template, a turn that contradicts itself).
  The author's doing.
- `ModelError`: the model answered with an error status, scripted or because a provider would refuse the request.
  Raised by the callable shell to the agent, as an SDK would.
- `StreamBroken`: the scripted connection broke before the reply was whole. Raised to the agent, as an SDK would.
- `ListenError`: the server cannot have its port. The doing of whoever chose it.
"""

import errno
from collections.abc import Mapping
from typing import Any


class ScriptError(ValueError):
    """The script cannot be played; the message names the place and what would be right."""


class ModelError(Exception):
    """
    The model refused or failed.

    `status` is the HTTP status, `body` the provider's error body as JSON (or text where the script says so), `headers` what
    came beside the content type, their names in lower case.
    """

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = headers or {}
        super().__init__(f"the model answered {status}: {body!r}")


class StreamBroken(ConnectionError):  # noqa: N818 - named as the event it is, beside ConnectionResetError
    """The connection ended before the reply was whole."""


class ListenError(OSError):
    """The port is taken, forbidden or none, or the host is; the message names host and port and what to do."""

    def __init__(self, host: str, port: int, reason: Exception) -> None:
        super().__init__(
            f"cannot listen on {host:.100}, port {port}: {reason!s:.200}. {_PORT if _of_the_port(reason) else _HOST}"
        )


_PORT = "Stop what listens there, or give another port; port 0 takes a free one."
_HOST = "A host is an address or a name of this machine, such as 127.0.0.1."


def _of_the_port(reason: Exception) -> bool:
    return isinstance(reason, OverflowError) or getattr(reason, "errno", None) in {errno.EADDRINUSE, errno.EACCES}
