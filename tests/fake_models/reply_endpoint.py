"""An endpoint for tests: gives the replies it was made with, in order, and remembers all it is told. Judges nothing."""

from fake_models.chunking import WHOLE
from fake_models.exchange import exchange_of
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp, told


class ReplyEndpoint:
    def __init__(self, *replies, chunking=WHOLE):
        self.replies = list(replies)
        self.chunking = chunking
        self.requests = []
        self.done_calls = []
        self.paused_s = []
        self.hangs = 0
        self.overrun = False

    def exchange(self, wire, path, body, headers):
        self.requests.append({"wire": wire, "path": path, "body": body, "headers": headers})
        codec = CODECS[wire]
        request = codec.decode(body, path)
        return exchange_of(
            f"m{len(self.requests)}",
            codec,
            told(codec, self.replies.pop(0), request),
            request=request,
            stamp=Stamp("chatcmpl-1", 1767225600, "any-name"),
            chunking=self.chunking,
        )

    def done(self, call, sent_bytes, by):
        self.done_calls.append((call, sent_bytes, by))

    def pause(self, delay_s):
        self.paused_s.append(delay_s)

    def hang(self):
        self.hangs += 1

    async def ahang(self):
        self.hangs += 1
