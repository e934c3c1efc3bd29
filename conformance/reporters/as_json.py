"""The JSON report as text, for files and for pipes. The keys are listed in docs/report.md."""

import json

from conformance.report import Report, as_json


def json_text(rep: Report) -> str:
    """The report; in ASCII alone, so that no terminal, pipe or locale can spoil what an agent said."""
    return json.dumps(as_json(rep), indent=2) + "\n"
