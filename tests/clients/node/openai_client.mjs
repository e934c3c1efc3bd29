// OpenAI's client, over both of its wires.

import OpenAI from "openai";
import { main, spent } from "./asking.mjs";

const messages = [{ role: "user", content: "hi" }];
const model = "fake-model";

function client(url) {
  return new OpenAI({ apiKey: "k", baseURL: `${url}/v1`, maxRetries: 0 });
}

async function chat(url, stream) {
  if (!stream) {
    const completion = await client(url).chat.completions.create({ model, messages });
    const { message, finish_reason } = completion.choices[0];
    return {
      text: message.content ?? "",
      thinking: message.reasoning_content ?? "",
      calls: (message.tool_calls ?? []).map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments)]),
      stop: finish_reason,
      usage: spent(completion.usage?.prompt_tokens, completion.usage?.completion_tokens),
    };
  }
  const chunks = await client(url).chat.completions.create({
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  const calls = [];
  let text = "";
  let thinking = "";
  let stop = null;
  let usage = null;
  for await (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      stop = choice.finish_reason ?? stop;
      text += choice.delta.content ?? "";
      thinking += choice.delta.reasoning_content ?? "";
      for (const call of choice.delta.tool_calls ?? []) {
        calls[call.index] ??= [call.id, call.function.name, ""];
        calls[call.index][2] += call.function.arguments;
      }
    }
  }
  return {
    text,
    thinking,
    calls: calls.map(([id, name, given]) => [id, name, JSON.parse(given)]),
    stop,
    usage: spent(usage?.prompt_tokens, usage?.completion_tokens),
  };
}

async function responses(url, stream) {
  const question = { model, input: "hi" };
  let text = "";
  let response;
  if (stream) {
    for await (const event of await client(url).responses.create({ ...question, stream: true })) {
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.response) response = event.response;
    }
  } else {
    response = await client(url).responses.create(question);
    text = response.output_text;
  }
  const items = (type) => response.output.filter((item) => item.type === type);
  return {
    text,
    thinking: items("reasoning").flatMap((item) => item.summary.map((part) => part.text)).join(""),
    calls: items("function_call").map((item) => [item.call_id, item.name, JSON.parse(item.arguments)]),
    stop: response.incomplete_details?.reason ?? response.status,
    usage: spent(response.usage?.input_tokens, response.usage?.output_tokens),
  };
}

await main({ openai_chat: chat, openai_responses: responses });
