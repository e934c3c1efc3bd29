"""The pytest plugin: scenarios as tests, an agent or a fake model as a fixture. `hooks` is all that pytest loads at its start."""
