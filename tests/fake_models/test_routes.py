"""What is answered without asking a model: listings as each SDK reads them, and refusals in each provider's shape."""

import anthropic
import httpx
import httpx2
import ollama
import openai
import pytest
from google import genai
from reply_endpoint import ReplyEndpoint

from fake_models.httpx_transport import transport
from fake_models.routes import MODEL, codec_for, error_body, unmodelled
from fake_models.wire import CODECS

NAMED = "any/model-4.1"


def by_openai():
    http = httpx2.Client(transport=transport(ReplyEndpoint(), httpx2))
    with openai.OpenAI(api_key="k", base_url="http://m/v1", http_client=http) as client:
        return [model.id for model in client.models.list()], client.models.retrieve(NAMED).id


def by_anthropic():
    http = httpx2.Client(transport=transport(ReplyEndpoint(), httpx2))
    with anthropic.Anthropic(api_key="k", base_url="http://m", http_client=http) as client:
        return [model.display_name for model in client.models.list()], client.models.retrieve(NAMED).id


def by_gemini():
    http = httpx2.Client(transport=transport(ReplyEndpoint(), httpx2))
    client = genai.Client(api_key="k", http_options={"base_url": "http://m", "httpx_client": http})
    found = client.models.get(model=NAMED)
    assert found.supported_actions == ["generateContent", "streamGenerateContent"]
    return [model.name.removeprefix("models/") for model in client.models.list()], found.name.removeprefix("models/")


def by_ollama():
    client = ollama.Client("http://m", transport=transport(ReplyEndpoint(), httpx))
    assert "tools" in client.show(NAMED).capabilities
    return [model.model for model in client.list().models], NAMED


@pytest.mark.parametrize("listed", [by_openai, by_anthropic, by_gemini, by_ollama])
def test_an_sdk_finds_a_listing_and_any_model_by_name(listed):
    assert listed() == ([MODEL], NAMED)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/v1/models", "/s/t/v1beta/models", "/models/x", "/api/tags", "/api/version"])
def test_listings_are_read(method, path):
    said = unmodelled(method, path)

    assert (said.status, said.headers) == (200, (("Content-Type", "application/json"),))
    assert codec_for(method, path) is None


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/chat/completions", "POST"),
        ("POST", "/v1/models", "GET, HEAD"),
        ("DELETE", "/v1/models/x", "GET, HEAD"),
        ("POST", "/api/tags", "GET, HEAD"),
        ("GET", "/api/show", "POST"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(method, path, allow):
    said = unmodelled(method, path)

    assert (said.status, said.headers) == (405, (("Content-Type", "application/json"), ("Allow", allow)))


@pytest.mark.parametrize("path", ["/", "/v1/embeddings", "/v1/models/", "/modelsx", "/api/tags/x"])
def test_what_is_nowhere_is_told_what_there_is(path):
    said = unmodelled("POST", path)

    assert said.status == 404
    assert "/v1/chat/completions" in str(said.body)


def openai_shape(body):
    return set(body["error"]) == {"message", "type", "param", "code"}


def anthropic_shape(body):
    return body["type"] == "error" and body["error"]["type"] == "not_found_error"


def gemini_shape(body):
    return (body["error"]["code"], body["error"]["status"]) == (404, "NOT_FOUND")


def ollama_shape(body):
    return isinstance(body["error"], str)


@pytest.mark.parametrize(
    ("path", "wire", "shape"),
    [
        ("/v1/chat/completions", "openai_chat", openai_shape),
        ("/v1/embeddings", "openai_chat", openai_shape),
        ("/v1/responses/resp_1/cancel", "openai_responses", openai_shape),
        ("/v1/messages", "anthropic_messages", anthropic_shape),
        ("/v1/messages/count_tokens", "anthropic_messages", anthropic_shape),
        ("/v1beta/models/x:embedContent", "gemini", gemini_shape),
        ("/v1beta/files", "gemini", gemini_shape),
        ("/api/chat", "ollama", ollama_shape),
        ("/api/embed", "ollama", ollama_shape),
    ],
)
def test_an_error_of_no_script_is_spelled_as_its_provider_does(path, wire, shape):
    assert wire in CODECS
    assert shape(error_body("not there", path, 404))
