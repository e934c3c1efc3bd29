"""
Whether a request was meant for this server, by what a browser says of it. Pure; refuses nothing itself.

A page from anywhere can let a name of its own lead to this machine, and a browser then sends here what the page asks. It still says
under which name it did, and from where the page is.
"""

import ipaddress
import re
from collections.abc import Mapping

_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?", re.ASCII)
#: What this machine is called on itself.
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
#: The port of an address that names none.
_USUAL_PORT = "80"


def stray(headers: Mapping[str, str], host: str, port: int) -> str | None:
    """Why a request is none for the server that listens there; None: it is one. Names of headers are in lower case."""
    origin = headers.get("origin")
    if origin is not None and not (origin.startswith("http://") and _own(origin[len("http://") :], host, port)):
        return f"came Origin {origin!r:.200}: pages from elsewhere may not ask this; ask from a program, or from a page of this server"
    asked = headers.get("host")
    # What says nothing is no browser.
    if asked is not None and not _own(asked, host, port):
        return (
            f"came Host {asked!r:.200}, expected this server's own address, such as {_LOCAL[0]}:{port}; use that, "
            "or let the server listen under the name that you use (--host)"
        )
    return None


def _own(authority: str, host: str, port: int) -> bool:
    found = _AUTHORITY.fullmatch(authority.lower())
    if found is None or int(found[2] or _USUAL_PORT) != port:
        return False
    name = found[1]
    # A server that others reach has addresses it does not know; no name leads anywhere where an address stands.
    return name in (*_LOCAL, host.lower(), f"[{host.lower()}]") or (_is_address(name) and not _is_loopback(host))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
