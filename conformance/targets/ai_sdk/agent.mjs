// AI SDK as an agent under test: `target:ai-sdk`.
//
// Drives `ToolLoopAgent`, whose `generate` is generateText and whose `stream` is streamText, and translates what they show. It
// repairs nothing: an exception of the framework is the end of the run, a bracket the framework leaves open stays open.

import { callTool, finished, parted, serve, started } from "../agent_side.mjs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { dynamicTool, isStepCount, jsonSchema, ToolLoopAgent } from "ai";
import { reply, resulted, shown, spent } from "./events.mjs";
import packages from "./package.json" with { type: "json" };

// What differs from the recommended answers, each with where the AI SDK says or does so. Paths are below node_modules/ai/src/.
const DIALECT = {
  // generate-text/stop-condition.ts, isStepCount: the loop stops after that step and gives what it has, with no closing request.
  on_limit: "stop",
  // agent/tool-loop-agent.ts, prepareCall: isStepCount(20) unless the caller says otherwise.
  default_max_iters: 20,
  // generate-text/generate-text.ts, shouldStartNextStep: a reply without calls is the end, whatever else it holds.
  empty_response: "finish",
  // prompt/, error/: nothing tells an overflow from another APICallError; compacting is left to prepareStep.
  prompt_too_long: "error",
  // generate-text/generate-text.ts: thrown; streamed, it is the stream's error part, which this adapter throws.
  model_error: "raise",
  // generate-text/generate-text-result.ts, finishReason: a cut text is the result all the same; the reason stands beside it.
  length_stop: "flag",
  // @ai-sdk/provider-utils, jsonSchema: a schema without a validate function checks nothing.
  type_check: "tool",
  extra_args: "pass",
  // This adapter.
  events: "translated",
  // generate-text/stream-text-result.ts, the part finish: totalUsage, a sum over the run.
  usage_events: "per_run",
  // AI_APICallError and AI_RetryError stay out: they are thrown for several causes, an overflow among them.
  exceptions: {
    // @ai-sdk/openai-compatible: a reply that is none, or a stream that ended without a finish reason.
    AI_InvalidResponseDataError: "model_error",
  },
};

// What a finish reason beside a result says of it (types/language-model.ts, FinishReason).
const KINDS = { length: "truncated", "content-filter": "filtered", error: "model_error" };

class Session {
  // As an application keeps them: what a run brings, and what it gives where it ends without an exception.
  #messages = [];
  #instructions = undefined;
  #model;

  constructor({ model }) {
    const provider = createOpenAICompatible({
      name: "kit",
      baseURL: model.base_url,
      apiKey: model.api_key,
      // Off by default.
      includeUsage: true,
    });
    this.#model = provider(model.name);
  }

  async run(given, show) {
    const [system, messages] = parted(given);
    this.#instructions = system ?? this.#instructions;
    this.#messages.push(...modelMessages(messages));
    let steps = 0;
    const agent = new ToolLoopAgent({
      model: this.#model,
      instructions: this.#instructions,
      tools: Object.fromEntries(given.input.tools.map((one) => [one.name, tool(given, one)])),
      ...("max_iters" in given.limits ? { stopWhen: isStepCount(given.limits.max_iters) } : {}),
      // Unstreamed, a reply is shown whole, before its tools run.
      ...(given.stream ? {} : { onLanguageModelCallEnd: ({ content }) => show(...reply(content, `${given.run}-${++steps}`)) }),
    });
    show(started(given));
    const made = given.stream
      ? await this.#streamed(agent, given, show)
      : await agent.generate({
          messages: [...this.#messages],
          onStepEnd: ({ content }) => show(...content.flatMap(resulted)),
        });
    show(finished(given, spent(await made.totalUsage)));
    this.#messages.push(...(await made.responseMessages));
    return outcome(await made.finishReason, (await made.steps).at(-1), await made.text);
  }

  async #streamed(agent, given, show) {
    const made = await agent.stream({ messages: [...this.#messages] });
    let step = 0;
    for await (const part of made.stream) {
      if (part.type === "start-step") step += 1;
      // Where generateText throws, streamText says so in its stream and then ends it.
      if (part.type === "error") throw part.error;
      show(...shown(part, `${given.run}-${step}`));
    }
    return made;
  }
}

const tool = (given, { name, description, parameters }) =>
  dynamicTool({
    description,
    inputSchema: jsonSchema(parameters),
    // What it throws is a tool-error, which goes back to the model; there is no other way to refuse arguments.
    execute: (input, { toolCallId }) => callTool(given, name, input, toolCallId),
  });

// A loop that is not thrown out of ends with its last step; calls in it were the last that the step count allowed.
function outcome(reason, last, said) {
  const kind = KINDS[reason] ?? (last.toolCalls.length ? "limit" : "answered");
  return { kind: kind === "truncated" && !said && !last.toolCalls.length ? "overflow" : kind, reason, text: said };
}

// AG-UI messages in the form of the AI SDK's, which has no converter for them. A result there names its tool.
function modelMessages(messages) {
  const names = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls).map((one) => [one.id, one.function.name]));
  return messages.map(({ role, content, toolCalls = [], toolCallId }) => {
    if (role === "tool") {
      const output = { type: "text", value: content };
      return { role, content: [{ type: "tool-result", toolCallId, toolName: names.get(toolCallId), output }] };
    }
    if (role !== "assistant" || !toolCalls.length) return { role, content: content ?? "" };
    const calls = toolCalls.map(({ id, function: { name, arguments: args } }) =>
      ({ type: "tool-call", toolCallId: id, toolName: name, input: JSON.parse(args || "{}") }));
    return { role, content: [...(content ? [{ type: "text", text: content }] : []), ...calls] };
  });
}

serve(
  {
    name: "ai-sdk",
    version: packages.dependencies.ai,
    channels: ["M", "T", "E", "R", "U"],
    dialect: DIALECT,
    capabilities: { sessions: true, streaming: true, wire_streaming: true },
  },
  (given) => new Session(given),
);
