"""The kit's engine as an ASGI application, to be put behind other HTTP servers. Of the breaks it can say only an early end."""

from session import Session

from fake_models.bodies import json_or_text
from fake_models.effects import Head, Send
from fake_models.exchange import content_length, delivery
from fake_models.routes import codec_for

SESSION = Session()


async def app(scope, receive, send):  # noqa: ANN001, ANN201
    if scope["type"] != "http":
        return
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    codec = codec_for(scope["method"], scope["path"])
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    exchange = SESSION.endpoint.exchange(codec.name, scope["path"], json_or_text(b"".join(parts)), headers)
    length = content_length(exchange)
    for effect in delivery(exchange, SESSION.endpoint.done, join=True):
        match effect:
            case Head(status=status, headers=told):
                sized = () if length is None else (("content-length", str(length)),)
                listed = [(name.lower().encode(), value.encode()) for name, value in (*told, *sized)]
                await send({"type": "http.response.start", "status": status, "headers": listed})
            case Send(data=data):
                await send({"type": "http.response.body", "body": data, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
