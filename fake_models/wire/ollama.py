"""Ollama chat: requests to values, replies to JSON. Pure; judges no request and knows no socket."""
