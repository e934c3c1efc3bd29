"""
Asks for what stands on stdin, one case after another, and prints what the client parsed, one line of JSON each.

A case has a wire, the name of a reply, whether to stream, and the URL of a server; without one the client gets a transport.
"""

import json
import sys

from client_replies import REPLIES, Endpoint

from fake_models.httpx_transport import transport

#: No server stands there.
NOWHERE = "http://127.0.0.1:9/s/token"


def main(readers, library):
    """`readers` give, by wire, what a client heard, told URL, stream and options of its HTTP client, which is one of `library`."""
    for case in json.load(sys.stdin):
        # Reading a machine's certificates takes longer than asking, and none is needed here.
        served = {"verify": False}
        options = served if case["url"] else {"transport": transport(Endpoint(REPLIES[case["name"]]), library)}
        try:
            heard = readers[case["wire"]](case["url"] or NOWHERE, case["stream"], options)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what it made of the reply
            heard = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps({**case, "heard": heard}) + "\n")
