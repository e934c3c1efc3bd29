// Ollama's client.

import { Ollama } from "ollama";
import { main, spent } from "./asking.mjs";

async function chat(url, stream) {
  const client = new Ollama({ host: url });
  const question = { model: "fake-model", messages: [{ role: "user", content: "hi" }], stream };
  const parts = [];
  if (stream) {
    for await (const part of await client.chat(question)) parts.push(part);
  } else {
    parts.push(await client.chat(question));
  }
  const last = parts.at(-1);
  return {
    text: parts.map((part) => part.message.content).join(""),
    thinking: parts.map((part) => part.message.thinking ?? "").join(""),
    calls: parts
      .flatMap((part) => part.message.tool_calls ?? [])
      .map((call) => [call.id, call.function.name, call.function.arguments]),
    stop: last.done_reason,
    usage: spent(last.prompt_eval_count, last.eval_count),
  };
}

await main({ ollama: chat });
