"""The wires as the page docs/wires.md: written from the tables that the fake models speak and refuse by. Pure."""

from collections.abc import Iterator, Mapping

from conformance.reporters.refusals import MODES, words
from fake_models.provider_rules import PROVIDER_RULES, ProviderRule
from fake_models.wire import CODECS
from fake_models.wire.codec import Codec, Word

_HEAD = """# The wires

What the fake models speak, where they stray from it on request, and what they refuse. Written by `conformance provider-rules --page`
from the tables that do it.

An agent is played over the first wire that it declares; `conformance run --wire NAME` takes another, `--wire all` each of them.
A wire is told by the end of the path, so any base URL will do. `conformance serve` and the `run` message give the one that the
wire's official client expects.
"""
_CLIENTS = """
## An agent over another wire

An agent says which it speaks, `AgentInfo("my-agent", wires=("anthropic_messages",))`, and the base URL, key and model's name of its bench
are those of the wire that is played; `bench.model` and its sisters speak openai_chat alone. A client of the wire's own library is made of
the bench:

<!-- client: openai_chat, openai_responses -->
```python
import openai

client = openai.OpenAI(
    base_url=bench.base_url,
    api_key=bench.api_key,
    max_retries=0,
    http_client=openai.DefaultHttpxClient(transport=bench.transport()),
)
```

<!-- client: anthropic_messages -->
```python
import anthropic

client = anthropic.Anthropic(
    base_url=bench.base_url,
    api_key=bench.api_key,
    max_retries=0,
    http_client=anthropic.DefaultHttpxClient(transport=bench.transport()),
)
```

<!-- client: gemini -->
```python
import httpx2
from google import genai
from google.genai import types

client = genai.Client(
    api_key=bench.api_key,
    http_options=types.HttpOptions(
        base_url=bench.base_url,
        httpx_client=httpx2.Client(transport=bench.transport()),
    ),
)
```

<!-- client: ollama -->
```python
import ollama

client = ollama.Client(host=bench.base_url, transport=bench.httpx_transport())
```

openai 3, anthropic 2 and google-genai 3 take `transport()`, which is httpx2's; ollama and older ones take `httpx_transport()`. Asynchronous
clients take `async_transport()` and `httpx_async_transport()`. openai and anthropic send failed requests again by themselves: leave
`max_retries=0` there, or declare `http_retry`, see [dialect.md](dialect.md).

Under `python:` no socket stands behind `base_url`, so a client that is not given the transport reaches nothing. An agent whose
client cannot be given one is played as `command:python -m conformance.agent_side my_agent:AGENT`, where `base_url` is real.

## Arguments that are no JSON object

Models write such calls. openai_chat and openai_responses carry them as they are, and so does a stream of anthropic_messages; in a
whole body of anthropic_messages they are a JSON string in place of the object. gemini and ollama cannot carry them: on gemini the reply is
empty and finishes with MALFORMED_FUNCTION_CALL, on ollama the request is answered with status 500, as their servers do.
"""
_STORED = """
## Stored conversations

On openai_responses a request may send only what is new behind a `previous_response_id`. A fake model keeps the last responses of a
session, but for those asked for with `store: false` and those that ended in an error, and answers and judges such a request as
though it had been sent whole: calls and outputs are paired over the conversation, and its size is the size of all of it. An unknown id
is refused. `instructions` and tools are a request's own and do not carry over; system and developer items do. An `item_reference` to an
item of such a response stands for that item. What `conversation`, a stored `prompt` or any other reference stands for is unknown to
a fake model: such a request is taken as it came, and an output in it may answer a call that does not show.
"""
_CHUNKINGS = """
## Chunkings

`conformance run --chunking NAME` plays streamed replies cut in other ways, on every wire. `whole` puts each text into one chunk, `token`
some four characters, `character` one. `byte` sends every byte in a write of its own. `adversarial:SEED` cuts where readers break,
inside a character, an escape, a key or a line, joins frames, and keeps the stream alive between them where the wire can; a seed gives
the same cuts every time.
"""
_RULES = """
## What is refused

Each rule was seen at a provider. {modes}. Confidence A is an error body that was quoted raw or captured, B one that only code and
comments tell of: for those WIRE-1 warns and never fails. Quotas, keys and overload are no rules but faults, for scenarios to script.
`conformance provider-rules ID` explains one.
"""
#: What it means that a wire has no word for something.
LACKS: Mapping[Word, str] = {
    "tool_choice": "no choice among the tools: an agent forbids or forces one by what it offers",
    "reply_id": "no id of a reply: usage reports have none to name, so USE-1 does not bind",
}


def wires_page() -> str:
    """The whole page."""
    return "".join((_HEAD, *map(_wire, CODECS.values()), _CLIENTS, _STORED, _CHUNKINGS, *_refusals()))


def _wire(codec: Codec) -> str:
    rows = [f"| `{name}` | {quirk.says} |" for name, quirk in codec.quirks.items()]
    lacks = [f"It has {LACKS[one]}." for one in sorted(codec.lacks)]
    lines = [
        f"\n## {codec.name}\n",
        f"`POST {codec.path}`; its base URL ends in {f'`{codec.base}`' if codec.base else 'nothing of its own'}.",
        *lacks,
        "\n| `quirks` of a turn | what comes |",
        "|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def _refusals() -> Iterator[str]:
    modes = "; ".join(f"`{mode}`: {says}" for mode, says in MODES.items())
    yield _RULES.format(modes=modes)
    for wire in CODECS:
        rules = [rule for rule in PROVIDER_RULES if rule.wire == wire]
        yield f"\n### {wire}\n\n| rule | mode | | answer | seen |\n|---|---|---|---|---|\n"
        yield from map(_row, rules)


def _row(rule: ProviderRule) -> str:
    cells = (f"`{rule.id}`", rule.mode, rule.confidence, f"{rule.status} {words(rule)}", rule.source)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
