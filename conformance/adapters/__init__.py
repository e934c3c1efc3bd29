"""The ways to reach an agent; `ways` is their table."""
