// The AI SDK, over the wires that its providers of OpenAI, Anthropic and Google speak.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, streamText } from "ai";
import { main, spent } from "./asking.mjs";

const apiKey = "k";
const MODELS = {
  openai_chat: (url) => createOpenAI({ apiKey, baseURL: `${url}/v1` }).chat("fake-model"),
  openai_responses: (url) => createOpenAI({ apiKey, baseURL: `${url}/v1` }).responses("fake-model"),
  anthropic_messages: (url) => createAnthropic({ apiKey, baseURL: `${url}/v1` })("fake-model"),
  gemini: (url) => createGoogleGenerativeAI({ apiKey, baseURL: `${url}/v1beta` })("fake-model"),
};

// A tool without a way to run it: its calls end the turn.
const tool = { description: "", inputSchema: jsonSchema({ type: "object" }) };

function asking(model) {
  return async (url, stream) => {
    const question = { model: model(url), prompt: "hi", tools: { look: tool, time: tool }, maxRetries: 0 };
    let failed;
    const onError = ({ error }) => (failed = error);
    const result = stream ? streamText({ ...question, onError }) : await generateText(question);
    // Of a stream these are promises.
    const [text, reasoning, calls, stop, usage] = await Promise.all([
      result.text,
      result.reasoningText,
      result.toolCalls,
      result.finishReason,
      result.usage,
    ]);
    if (failed) throw failed;
    return {
      text,
      thinking: reasoning ?? "",
      calls: calls.map((call) => [call.toolCallId, call.toolName, call.input]),
      stop,
      usage: spent(usage.inputTokens, usage.outputTokens),
    };
  };
}

await main(Object.fromEntries(Object.entries(MODELS).map(([wire, model]) => [wire, asking(model)])));
