"""Which log records are the agent's own: libraries underneath it log in the same process. Judges nothing."""

from conformance.reading.view import Run
from conformance.recording import Record

#: First parts of the names of loggers that are libraries'. Official SDKs are among them: at DEBUG, which the kit switches on,
#: some log the whole request with its key.
LIBRARIES = frozenset(
    {
        *("asyncio", "httpcore", "httpcore2", "httpx", "httpx2", "urllib3"),
        *("anthropic", "google_genai", "mcp", "ollama", "openai"),
    }
)


def own_logs(run: Run) -> tuple[Record, ...]:
    """The run's log records but those of libraries."""
    return tuple(one for one in run.logs if str(one.data.get("logger")).partition(".")[0] not in LIBRARIES)
