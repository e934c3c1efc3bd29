"""Claude Code as an agent under test. `docs/results.md` says what was found and why it is so."""
