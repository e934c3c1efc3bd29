"""The wires by name."""

from types import MappingProxyType

from fake_models.wire.anthropic_messages import CODEC as ANTHROPIC_MESSAGES
from fake_models.wire.codec import Codec
from fake_models.wire.gemini import CODEC as GEMINI
from fake_models.wire.ollama import CODEC as OLLAMA
from fake_models.wire.openai_chat import CODEC as OPENAI_CHAT
from fake_models.wire.openai_responses import CODEC as OPENAI_RESPONSES

CODECS = MappingProxyType[str, Codec](
    {codec.name: codec for codec in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC_MESSAGES, OLLAMA, GEMINI)}
)
