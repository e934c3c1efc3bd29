"""A conformance kit for agent loops: scenarios in, recordings between, verdicts out."""

#: The kit's version, as it stands in recordings, reports and the command protocol.
__version__ = "0.1.0"
