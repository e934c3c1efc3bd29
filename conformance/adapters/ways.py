"""The table of ways to reach an agent: the word before the colon of its spec picks the adapter."""

from collections.abc import Mapping

from conformance.adapters.agui import AGUI
from conformance.adapters.base import Adapter
from conformance.adapters.command import COMMAND
from conformance.adapters.embedded import REFERENCE
from conformance.adapters.in_process import PYTHON
from conformance.adapters.target import TARGET

ADAPTERS: Mapping[str, Adapter] = {adapter.kind: adapter for adapter in (REFERENCE, PYTHON, COMMAND, TARGET, AGUI)}
