"""AutoGen as an agent under test: the assistant agent of autogen-agentchat, over its OpenAI client."""
