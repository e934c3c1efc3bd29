"""Google's client."""

import httpx
from asking import main
from google import genai
from google.genai import types


def content(url, stream, options):
    http = types.HttpOptions(base_url=url, httpx_client=httpx.Client(**options))
    sdk = genai.Client(api_key="k", http_options=http)
    if stream:
        said = list(sdk.models.generate_content_stream(model="fake-model", contents="hi"))
    else:
        said = [sdk.models.generate_content(model="fake-model", contents="hi")]
    candidates = [candidate for response in said for candidate in response.candidates or []]
    parts = [part for candidate in candidates if candidate.content for part in candidate.content.parts or []]
    calls = [part.function_call for part in parts if part.function_call]
    usage = said[-1].usage_metadata
    return {
        "text": "".join(part.text for part in parts if part.text and not part.thought),
        "thinking": "".join(part.text for part in parts if part.text and part.thought),
        "calls": [[call.id, call.name, call.args] for call in calls],
        "stop": candidates[-1].finish_reason.value,
        "usage": None if usage is None else [usage.prompt_token_count, usage.candidates_token_count or 0],
    }


main({"gemini": content}, httpx)
