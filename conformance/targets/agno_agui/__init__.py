"""Agno behind its AG-UI interface as an agent under test. `docs/results.md` says what was found and why it is so."""
