"""The core on every wire, but for areas that no wire has a part in, through the provider's own SDK; takes minutes and so a command of its own."""

import pytest
from over_wires import played, troubles

from fake_models.wire import CODECS


@pytest.mark.parametrize("wire", CODECS)
def test_the_core_passes_over(wire, monkeypatch):
    report = played(monkeypatch, None, wire, ("adversarial:11",))
    assert troubles(report) == []
    assert len(report.entries) > 250
