"""smolagents as an agent under test: `ToolCallingAgent` over a server that speaks as OpenAI's does."""
