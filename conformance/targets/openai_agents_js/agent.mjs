// OpenAI Agents SDK for JavaScript as an agent under test: `target:openai-agents-js`.
//
// Drives `Runner.run` over Chat Completions, blocking or streaming, and translates what it shows. It repairs nothing: an exception
// of the framework is the end of the run, a bracket the framework leaves open stays open.

import { callTool, finished, parted, serve, started } from "../agent_side.mjs";
import { Agent, assistant, MemorySession, OpenAIChatCompletionsModel, Runner, tool, user } from "@openai/agents";
import OpenAI from "openai";
import { Shown, spent } from "./events.mjs";
import packages from "./package.json" with { type: "json" };

// What differs from the recommended answers, each with where the SDK says or does so. Paths are below packages/ of its repository.
const DIALECT = {
  // agents-core/src/runner/turnPreparation.ts, prepareTurn: turn N + 1 throws MaxTurnsExceededError, with no closing request.
  on_limit: "raise",
  // agents-core/src/runner/turnResolution.ts: a reply that makes no message is gone on from; each spends a turn.
  empty_response: "continue",
  retry_budget: "counts",
  // An empty or blank text is a message, and a message without calls is the final output; streamed, an empty text makes none.
  empty_is: ["null", "thinking"],
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
  // agents-core/src/runner/turnResolution.ts, preflightToolInvocations: a call id that is empty or used twice is a ModelBehaviorError.
  bad_ids: "refuse",
  // events.mjs of this adapter.
  events: "translated",
  // agents-openai/src/openaiChatCompletionsModel.ts: thinking is read where a server calls it reasoning, not reasoning_content.
  reasoning_events: "off",
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
  #client;

  constructor({ model }) {
    this.#client = new OpenAI({ baseURL: model.base_url, apiKey: model.api_key });
  }

  async run(given, show) {
    const [system, messages] = parted(given);
    this.#instructions = system ?? this.#instructions;
    const shown = new Shown(given.run);
    const agent = new Agent({
      name: "agent",
      instructions: this.#instructions,
      model: new Model(this.#client, given.model.name, (reply) => show(...shown.reply(reply))),
      tools: given.input.tools.map((one) => functionTool(given, one)),
    });
    // What was said before is the session's, as from a store.
    const [last, ...before] = items(messages).reverse();
    await this.#session.addItems(before.reverse());
    const limit = "max_iters" in given.limits ? { maxTurns: given.limits.max_iters } : {};
    const runner = new Runner({ tracingDisabled: true });
    if (!given.stream) runner.on("agent_tool_end", (...[, , , output, { toolCall }]) => show(shown.result(toolCall, output)));
    show(started(given));
    const made = await runner.run(agent, [last], { session: this.#session, stream: given.stream, ...limit });
    if (given.stream) {
      for await (const event of made) show(...shown.event(event));
      await made.completed;
    }
    show(finished(given, spent(made)));
    return { kind: KINDS[shown.reason] ?? "answered", reason: shown.reason, text: made.finalOutput };
  }
}

// Unstreamed, the SDK has hooks of the tools and none of the model: its replies are told of where they come in.
class Model extends OpenAIChatCompletionsModel {
  #tell;

  constructor(client, name, tell) {
    super(client, name);
    this.#tell = tell;
  }

  async getResponse(request) {
    const reply = await super.getResponse(request);
    this.#tell(reply);
    return reply;
  }
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
