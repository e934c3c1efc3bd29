"""Agno as an agent under test: its Agent, over a server that speaks as OpenAI's does."""
