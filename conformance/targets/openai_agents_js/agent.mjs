// OpenAI Agents SDK for JavaScript as an agent under test: `target:openai-agents-js`.
//
// Drives `Runner.run` over Chat Completions, blocking or streaming, and translates what it shows. It repairs nothing: an exception
// of the framework is the end of the run, a bracket the framework leaves open stays open.

import { callTool, finished, parted, serve, started } from "../agent_side.mjs";
import { Agent, assistant, MemorySession, OpenAIChatCompletionsModel, Runner, tool, user } from "@openai/agents";
import OpenAI from "openai";
import { finishReason, hooked, Shown, spent } from "./events.mjs";
import packages from "./package.json" with { type: "json" };

// What differs from the recommended answers, each with where the SDK says or does so. Paths are below packages/ of its repository.
const DIALECT = {
  // agents-core/src/runner/turnPreparation.ts, prepareTurn: turn N + 1 throws MaxTurnsExceededError, with no closing request.
  on_limit: "raise",
  // agents-core/src/runner/turnResolution.ts: a message without calls is the final output, an empty one too.
  empty_response: "finish",
  // agents-openai/src/openaiChatCompletionsModel.ts: the client's BadRequestError, as for any other; compacting is the caller's.
  prompt_too_long: "error",
  // agents-core/src/run.ts: what the client throws leaves the run.
  model_error: "raise",
  // agents-openai/src/openaiChatCompletionsModel.ts: a cut text is the output all the same; the reason stands in rawResponses.
  length_stop: "flag",
  // agents-core/src/run.ts, toolNotFoundBehavior: raise_error.
  unknown_tool: "raise",
  // agents-core/src/utils/tools.ts, getSchemaAndParserFromInputType: a JSON schema that is not strict is parsed by JSON.parse alone.
  type_check: "tool",
  extra_args: "pass",
  // events.mjs of this adapter.
  events: "translated",
  // agents-core/src/usage.ts, Usage: a sum over the run.
  usage_events: "per_run",
  // ModelBehaviorError stays out: it is thrown for several causes. So does BadRequestError, an overflow among its own.
  exceptions: {
    MaxTurnsExceededError: "limit",
    ModelRefusalError: "filtered",
    // What the client throws.
    AuthenticationError: "model_error",
    PermissionDeniedError: "model_error",
    NotFoundError: "model_error",
    ConflictError: "model_error",
    UnprocessableEntityError: "model_error",
    RateLimitError: "model_error",
    InternalServerError: "model_error",
    APIConnectionError: "model_error",
    APIConnectionTimeoutError: "model_error",
  },
};

// What a finish reason beside an output says of it.
const KINDS = { length: "truncated", content_filter: "filtered" };

class Session {
  #session = new MemorySession();
  #instructions = undefined;
  #model;

  constructor({ model }) {
    const client = new OpenAI({ baseURL: model.base_url, apiKey: model.api_key });
    this.#model = new OpenAIChatCompletionsModel(client, model.name);
  }

  async run(given, show) {
    const [system, messages] = parted(given);
    this.#instructions = system ?? this.#instructions;
    const agent = new Agent({
      name: "agent",
      instructions: this.#instructions,
      model: this.#model,
      tools: given.input.tools.map((one) => functionTool(given, one)),
    });
    const runner = new Runner({ tracingDisabled: true });
    const options = {
      session: this.#session,
      ...("max_iters" in given.limits ? { maxTurns: given.limits.max_iters } : {}),
    };
    show(started(given));
    const shown = new Shown(given.run);
    const made = given.stream
      ? await streamed(runner, agent, items(messages), options, shown, show)
      : await blocking(runner, agent, items(messages), options, shown, show);
    show(finished(given, spent(made)));
    const reason = finishReason(made, shown);
    return { kind: KINDS[reason] ?? "answered", reason, text: made.finalOutput };
  }
}

// Unstreamed, there are hooks of the tools, and once the run is over the messages that it made.
async function blocking(runner, agent, input, options, shown, show) {
  hooked(runner, show);
  const made = await runner.run(agent, input, options);
  show(...made.newItems.flatMap((item) => shown.message(item)));
  return made;
}

async function streamed(runner, agent, input, options, shown, show) {
  const made = await runner.run(agent, input, { ...options, stream: true });
  for await (const event of made) show(...shown.event(event));
  await made.completed;
  return made;
}

const functionTool = (given, { name, description, parameters }) =>
  tool({
    name,
    description,
    parameters,
    // As for the tools of an MCP server, whose schemas are others' too.
    strict: false,
    // What it throws goes to the tool's errorFunction, by default back to the model; there is no other way to refuse arguments.
    execute: (args, _context, { toolCall }) => callTool(given, name, args, toolCall.callId),
  });

// AG-UI messages as the SDK's items.
function items(messages) {
  const names = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls).map((one) => [one.id, one.function.name]));
  return messages.flatMap(({ role, content, toolCalls = [], toolCallId }) => {
    if (role === "user") return [user(content)];
    if (role === "tool") {
      const output = { type: "text", text: content };
      return [{ type: "function_call_result", name: names.get(toolCallId), callId: toolCallId, status: "completed", output }];
    }
    const calls = toolCalls.map(({ id, function: { name, arguments: args } }) =>
      ({ type: "function_call", callId: id, name, arguments: args, status: "completed" }));
    return [...(content ? [assistant(content)] : []), ...calls];
  });
}

serve(
  {
    name: "openai-agents-js",
    version: packages.dependencies["@openai/agents"],
    channels: ["M", "T", "E", "R", "U"],
    dialect: DIALECT,
    capabilities: { sessions: true, streaming: true, wire_streaming: true },
  },
  (given) => new Session(given),
);
