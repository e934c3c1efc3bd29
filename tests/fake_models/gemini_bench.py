"""Google's own client over the transport, and a scripted model with its records, for the tests of the Gemini wire."""

import ssl
from datetime import UTC, datetime

import httpx2
from google import genai
from google.genai import types

from fake_models.chunking import WHOLE
from fake_models.httpx_transport import transport
from fake_models.messages import World
from fake_models.script import Script
from fake_models.scripted_model import ScriptedModel
from fake_models.wire import CODECS

KEY = "AIza-not-a-real-key"
BASE_URL = "http://127.0.0.1:9/s/token"
#: Used by nobody; without it every client loads the machine's certificates, which takes longer than a test.
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def client(endpoint, *, vertexai=False, **options):
    through = transport(endpoint, httpx2)
    http = types.HttpOptions(
        base_url=BASE_URL,
        httpx_client=httpx2.Client(transport=through),
        httpx_async_client=httpx2.AsyncClient(transport=through),
        async_client_args={"ssl": TLS},
        **options,
    )
    return genai.Client(vertexai=vertexai, api_key=KEY, http_options=http)


class Bench:
    """A host whose one run plays these turns, and the records of its model."""

    def __init__(self, *turns, **options):
        self.records = []
        self.calls = 0
        self.model = ScriptedModel(
            record=lambda source, kind, data: self.records.append((kind, data)),
            host=self,
            chunking=WHOLE,
            codecs=CODECS,
            **options,
        )
        self.model.open("r1", Script(turns), "hi")

    def world(self, run, request, side):
        return World(now=datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def side(self, request, headers):
        return None

    def next_call(self):
        self.calls += 1
        return f"m{self.calls}"

    def recorded(self, kind):
        return [data for one, data in self.records if one == kind]
