"""
What can go wrong between a script and the agent that plays it.

- `ScriptError`: the script itself cannot be played (an unresolvable template, a turn that contradicts itself).
  The author's doing.
- `ModelError`: the model answered with an error status, scripted or because a provider would refuse the request.
  Raised by the callable shell to the agent, as an SDK would.
- `StreamBroken`: the scripted connection broke before the reply was whole. Raised to the agent, as an SDK would.
"""

from typing import Any


class ScriptError(ValueError):
    """The script cannot be played; the message names the place and what would be right."""


class ModelError(Exception):
    """
    The model refused or failed.

    `status` is the HTTP status, `body` the provider's error body as JSON (or text where the script says so).
    """

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body
        super().__init__(f"the model answered {status}: {body!r}")


class StreamBroken(ConnectionError):  # noqa: N818 - named as the event it is, beside ConnectionResetError
    """The connection ended before the reply was whole."""
