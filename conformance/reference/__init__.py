"""The reference loop, an honest agent whose dialect is a value, and its mutants. An agent under test like any other."""

from conformance.reference.agent import REFERENCE, reference, sensible_dialects

#: The reference in the recommended dialect, as the adapter that embeds it calls it.
REFERENCE_AGENT = REFERENCE

__all__ = ["REFERENCE", "REFERENCE_AGENT", "reference", "sensible_dialects"]
