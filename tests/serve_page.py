"""docs/serve.md as its reader uses it: the snippets by language, each with the SDK it is for, pointed at a server that stands."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs/serve.md").read_text("utf-8")
#: Where the page's server stands.
SHOWN = "http://127.0.0.1:8800"


def snippets(language):
    """The page's snippets in `python` or `javascript`, by the name of their SDK."""
    return dict(re.findall(rf"<!-- sdk: ([^\n]+) -->\n```{language}\n(.*?)```", PAGE, re.DOTALL))


def pointed(snippet, control):
    """The snippet, with the address of the server whose control URL this is in place of the one shown."""
    assert SHOWN in snippet
    return snippet.replace(SHOWN, control.removesuffix("/control"))
