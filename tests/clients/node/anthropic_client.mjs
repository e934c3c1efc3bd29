// Anthropic's client.

import Anthropic from "@anthropic-ai/sdk";
import { main, spent } from "./asking.mjs";

const question = { model: "fake-model", max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

async function messages(url, stream) {
  const client = new Anthropic({ apiKey: "k", baseURL: url, maxRetries: 0 });
  const message = stream
    ? await client.messages.stream(question).finalMessage()
    : await client.messages.create(question);
  const blocks = (type) => message.content.filter((block) => block.type === type);
  return {
    text: blocks("text").map((block) => block.text).join(""),
    thinking: blocks("thinking").map((block) => block.thinking).join(""),
    calls: blocks("tool_use").map((block) => [block.id, block.name, block.input]),
    stop: message.stop_reason,
    usage: spent(message.usage.input_tokens, message.usage.output_tokens),
  };
}

await main({ anthropic_messages: messages });
