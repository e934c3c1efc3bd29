"""
What official clients are asked to parse: one table of replies, and in which words each wire tells of them. Sends nothing.

Imported by scripts that run in environments of their own, so it needs nothing but fake_models.
"""

from fake_models.chunking import CHARACTER
from fake_models.exchange import exchange_of
from fake_models.messages import Reply, Text, Thinking, ToolCall, Usage
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp, told

SPENT = Usage(11, 3)
#: Astral and combining characters, what JSON escapes, and what ends a line for readers of text.
ODD = 'é 时间 🙂 e\u0301 "q" \\ / \n\t \u2028\u2029\x85 <&>'

REPLIES = {
    "text": Reply((Text("Hello, world."),), usage=SPENT),
    "unicode": Reply((Text(ODD),), usage=SPENT),
    "thinking": Reply((Thinking("Let me see."), Text("Hello.")), usage=SPENT),
    "call": Reply((ToolCall("call_1", "look", '{"city":"Oslo","days":[1,2]}'),), stop="tool_calls", usage=SPENT),
    "call_without_arguments": Reply((ToolCall("call_1", "look", "{}"),), stop="tool_calls", usage=SPENT),
    "call_unicode": Reply(
        (ToolCall("call_1", "look", '{"città":"奥斯陆 🙂 \\" \\n"}'),), stop="tool_calls", usage=SPENT
    ),
    "parallel_calls": Reply(
        (ToolCall("call_1", "look", '{"city":"Oslo"}'), ToolCall("call_2", "time", '{"tz":null}')),
        stop="tool_calls",
        usage=SPENT,
    ),
    "text_and_call": Reply(
        (Text("One moment."), ToolCall("call_1", "look", '{"city":"Oslo"}')), stop="tool_calls", usage=SPENT
    ),
    "length": Reply((Text("Hello, wor"),), stop="length", usage=SPENT),
    "filter": Reply((Text("Hello"),), stop="filter", usage=SPENT),
    "no_usage": Reply((Text("Hello."),)),
    "empty": Reply(usage=Usage(11, 0)),
}

#: The words of each wire for how a reply ended, from its provider's reference.
STOPS = {
    "openai_chat": {"stop": "stop", "length": "length", "filter": "content_filter", "tool_calls": "tool_calls"},
    "openai_responses": {
        "stop": "completed",
        "length": "max_output_tokens",
        "filter": "content_filter",
        "tool_calls": "completed",
    },
    "anthropic_messages": {
        "stop": "end_turn",
        "length": "max_tokens",
        "filter": "refusal",
        "tool_calls": "tool_use",
    },
    "gemini": {"stop": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY", "tool_calls": "STOP"},
    # This one knows neither filters nor calls as an end.
    "ollama": {"stop": "stop", "length": "length", "filter": "stop", "tool_calls": "stop"},
}


class Endpoint:
    """Gives its replies one after another, the last one to whoever still asks."""

    overrun = False

    def __init__(self, *replies, chunking=CHARACTER):
        self.replies = replies
        self.chunking = chunking
        self.asked = 0

    def exchange(self, wire, path, body, headers):
        codec = CODECS[wire]
        request = codec.decode(body, path)
        reply = self.replies[min(self.asked, len(self.replies) - 1)]
        self.asked += 1
        return exchange_of(
            f"m{self.asked}",
            codec,
            told(codec, reply, request),
            request=request,
            stamp=Stamp("reply_m1", 1767225600, "fake-model"),
            chunking=self.chunking,
        )

    def done(self, call, sent_bytes, by):
        """Nobody asks."""

    def pause(self, delay_s):
        """No reply of the table waits."""

    def hang(self):
        raise AssertionError("no reply of the table is endless")

    async def ahang(self):
        raise AssertionError("no reply of the table is endless")
