"""The wires by name."""

from types import MappingProxyType

from fake_models.wire.codec import Codec
from fake_models.wire.openai_chat import CODEC as OPENAI_CHAT

CODECS = MappingProxyType[str, Codec]({codec.name: codec for codec in (OPENAI_CHAT,)})
