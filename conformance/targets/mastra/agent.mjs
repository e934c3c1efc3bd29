// Mastra as an agent under test: `target:mastra`.
//
// Drives `Agent.generate` and `Agent.stream` with a memory of threads, and translates what they show. It repairs nothing: an
// exception of the framework is the end of the run, a bracket the framework leaves open stays open.

import { callTool, finished, parted, serve, started } from "../agent_side.mjs";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { Memory } from "@mastra/memory";
import { Shown, spent } from "./events.mjs";
import packages from "./package.json" with { type: "json" };

// What differs from the recommended answers, each with where Mastra says or does so. Paths are below packages/core/src/ of its repository.
const DIALECT = {
  // llm/model/model.loop.ts, stream: maxSteps is stepCountIs, which ends the loop with what it has, with no closing request.
  on_limit: "stop",
  // llm/model/model.loop.ts, stream: stepCountIs(5) unless the caller says otherwise.
  default_max_iters: 5,
  // loop/workflows/: a reply without calls is the end, whatever else it holds.
  empty_response: "finish",
  // Nothing tells an overflow from another APICallError; making the history smaller is left to processors.
  prompt_too_long: "error",
  // agent/agent.ts, generate: thrown; streamed, it is the stream's error chunk, which this adapter throws.
  model_error: "raise",
  // agent/agent.ts, Agent: maxRetries is 0 unless the caller says otherwise.
  http_retry: "none",
  // stream/base/output.ts, finishReason: a cut text is the result all the same; the reason stands beside it.
  length_stop: "flag",
  // tools/validation.ts: arguments are checked by the schema, which as a rule allows others.
  extra_args: "pass",
  // events.mjs of this adapter.
  events: "translated",
  // stream/base/output.ts, totalUsage: a sum over the run.
  usage_events: "per_run",
};

// What a finish reason beside a result says of it.
const KINDS = { length: "truncated", "content-filter": "filtered", error: "model_error" };

process.env.MASTRA_TELEMETRY_DISABLED = "1";

class Session {
  #instructions = "";
  #memory = new Memory({ storage: new InMemoryStore() });
  #model;

  constructor({ model }) {
    this.#model = { providerId: "kit", modelId: model.name, url: model.base_url, apiKey: model.api_key };
  }

  async run(given, show) {
    const [system, messages] = parted(given);
    this.#instructions = system ?? this.#instructions;
    const agent = new Agent({
      id: "agent",
      name: "agent",
      instructions: this.#instructions,
      model: this.#model,
      memory: this.#memory,
      tools: Object.fromEntries(given.input.tools.map((one) => [one.name, tool(given, one)])),
    });
    const options = {
      memory: { thread: given.session, resource: "user" },
      ...("max_iters" in given.limits ? { maxSteps: given.limits.max_iters } : {}),
    };
    const shown = new Shown(given.run);
    show(started(given));
    const made = given.stream
      ? await streamed(agent, modelMessages(messages), options, shown, show)
      : await agent.generate(modelMessages(messages), {
          ...options,
          // The same chunks, of which each is a whole.
          onChunk: (chunk) => show(...shown.whole(chunk)),
          onStepFinish: () => shown.step(),
        });
    show(finished(given, spent(await made.totalUsage)));
    return outcome(await made.finishReason, (await made.steps).at(-1), await made.text);
  }
}

async function streamed(agent, messages, options, shown, show) {
  const made = await agent.stream(messages, options);
  for await (const chunk of made.fullStream) {
    // Where generate throws, stream says so in its chunks and then ends them.
    if (chunk.type === "error") throw chunk.payload.error;
    show(...shown.piece(chunk));
  }
  return made;
}

const tool = (given, { name, description, parameters }) =>
  createTool({
    id: name,
    description,
    inputSchema: parameters,
    // What it throws is a tool-error, which goes back to the model; there is no other way for a tool to refuse arguments.
    execute: (input, { agent: { toolCallId } }) => callTool(given, name, input, toolCallId),
  });

// A loop that is not thrown out of ends with its last step; where that had calls, or said so, the step count ended the loop.
function outcome(reason, last, said) {
  const called = (last?.toolCalls ?? []).length > 0;
  const kind = KINDS[reason] ?? (called || reason === "tool-calls" ? "limit" : "answered");
  return { kind: kind === "truncated" && !said && !called ? "overflow" : kind, reason, text: said };
}

// AG-UI messages in the form of the AI SDK's model messages, which Mastra reads. A result there names its tool.
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
    name: "mastra",
    version: packages.dependencies["@mastra/core"],
    channels: ["M", "T", "E", "R", "U"],
    dialect: DIALECT,
    capabilities: { sessions: true, streaming: true, wire_streaming: true },
  },
  (given) => new Session(given),
);
