"""The figures that both ends of the command protocol hold to, and an agent in the kit's own process with them."""

#: The one version there is.
PROTOCOL = 1
#: Longest line, in bytes, of the kit and of an agent.
MAX_LINE_BYTES = 8 * 1024 * 1024
#: Longest text of an outcome, message of an exception and log record, in characters: what a recording keeps of them.
MAX_TEXT_CHARS, MAX_ERROR_CHARS, MAX_LOG_CHARS = 1_000_000, 10_000, 2_000
