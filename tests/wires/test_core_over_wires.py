"""Every scenario of the core on every wire, through the provider's own SDK; takes minutes and so a command of its own."""

import pytest
from over_wires import played, troubles

from fake_models.wire import CODECS


@pytest.mark.parametrize("wire", CODECS)
def test_the_core_passes_over(wire, monkeypatch):
    report = played(monkeypatch, None, wire, ("whole", "adversarial:11"))
    assert troubles(report) == []
    assert len(report.entries) > 300
