"""LlamaIndex as an agent under test: the function agent of llama-index-core, over a server that speaks as OpenAI's does."""
