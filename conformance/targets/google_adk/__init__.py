"""Google ADK as an agent under test: `LlmAgent` in a `Runner`, over Gemini's wire."""
