// LangChain for JavaScript as an agent under test: `target:langgraph-js`.
//
// Drives the LangGraph graph of `createAgent`, blocking or streaming, and translates what it shows. It repairs nothing: an exception
// of the framework is the end of the run, a bracket the framework leaves open stays open.

import { callTool, finished, parted, serve, started } from "../agent_side.mjs";
import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { Shown } from "./events.mjs";
import packages from "./package.json" with { type: "json" };

// What differs from the recommended answers, each with where LangChain says or does so. Paths are below node_modules/.
const DIALECT = {
  // @langchain/langgraph/dist/pregel/index.js, _runLoop: GraphRecursionError once the loop is out of steps, with no closing request.
  on_limit: "raise",
  // @langchain/langgraph/dist/pregel/utils/config.js: a recursionLimit of 25, whose odd steps are the model's.
  default_max_iters: 13,
  limit_unit: "steps",
  // langchain/dist/agents/ReactAgent.js, createModelRouter: a reply without calls is the end, whatever else it holds.
  empty_response: "finish",
  // @langchain/core/dist/errors/index.js, ContextOverflowError: thrown; compacting is left to a middleware.
  prompt_too_long: "error",
  // @langchain/openai/dist/utils/client.js, wrapOpenAIClientError: thrown.
  model_error: "raise",
  // @langchain/openai/dist/chat_models/completions.js: a cut text is the answer all the same; the reason stands in response_metadata.
  length_stop: "flag",
  // @langchain/core/dist/tools/index.js, StructuredTool.call: arguments are checked by the schema, which as a rule allows others.
  extra_args: "pass",
  // events.mjs of this adapter.
  events: "translated",
  // @langchain/openai/dist/converters/completions.js: thinking is kept in additional_kwargs and is no part of the content.
  reasoning_events: "off",
  exceptions: {
    GraphRecursionError: "limit",
    ContextOverflowError: "overflow",
    // What the client throws. BadRequestError stays out, since an overflow may be one.
    AuthenticationError: "model_error",
    PermissionDeniedError: "model_error",
    NotFoundError: "model_error",
    ConflictError: "model_error",
    UnprocessableEntityError: "model_error",
    RateLimitError: "model_error",
    InternalServerError: "model_error",
    APIConnectionError: "model_error",
    TimeoutError: "model_error",
    // @langchain/core/dist/utils/async_caller.js: a 429 whose code or words tell a spent quota.
    InsufficientQuotaError: "model_error",
  },
};

// What a finish reason beside an answer says of it.
const KINDS = { length: "truncated", content_filter: "filtered" };

// Whoever runs this may have switched tracing on for work of their own.
process.env.LANGSMITH_TRACING = process.env.LANGCHAIN_TRACING_V2 = "false";

class Session {
  #saver = new MemorySaver();
  #system = undefined;
  #model;

  constructor({ model }) {
    this.#model = new ChatOpenAI({
      model: model.name,
      apiKey: model.api_key,
      configuration: { baseURL: model.base_url },
      useResponsesApi: false,
      // By default 6, whose pauses (1, 2, 4, 8 and more seconds) outlast the silence that a scenario allows.
      maxRetries: 2,
    });
  }

  async run(given, show) {
    const [system, messages] = parted(given);
    this.#system = system ?? this.#system;
    const agent = createAgent({
      model: this.#model,
      tools: given.input.tools.map((one) => functionTool(given, one)),
      systemPrompt: this.#system,
      checkpointer: this.#saver,
    });
    const config = { configurable: { thread_id: given.session }, ...limit(given) };
    // It is the mode `messages` that makes the graph ask its model for streamed replies.
    const streamMode = given.stream ? ["messages", "updates"] : ["updates"];
    const shown = new Shown({ whole: !given.stream });
    show(started(given));
    const input = { messages: messages.map(fromAgui) };
    for await (const [mode, item] of await agent.stream(input, { ...config, streamMode }))
      show(...(mode === "messages" ? shown.piece(item[0]) : shown.step(item)));
    show(finished(given));
    return outcome(shown.last);
  }
}

// N rounds are 2N supersteps: the model's and, all calls of a reply together, the tools'. An answer in round N is step 2N - 1 and ends
// the graph before its steps are out; after the tools of round N they are out (pregel/loop.js, tick). 0 is refused.
const limit = ({ limits }) => ("max_iters" in limits ? { recursionLimit: 2 * limits.max_iters } : {});

// A graph that is not thrown out of has one way to end; what else there is to know stands in its last message.
function outcome({ text, response_metadata, invalid_tool_calls = [] }) {
  const reason = response_metadata.finish_reason ?? null;
  const unread = invalid_tool_calls.length > 0;
  if (reason === "length" && !text && !unread) return { kind: "overflow", reason, text };
  return { kind: KINDS[reason] ?? (unread ? "error" : "answered"), reason, text };
}

const functionTool = (given, { name, description, parameters }) =>
  // What it throws goes back to the model; there is no other way for a tool to refuse arguments.
  tool((args, { toolCallId }) => callTool(given, name, args, toolCallId), { name, description, schema: parameters });

// An AG-UI message in the form of OpenAI's, which LangChain reads. Ids stay out: an equal one would replace a message.
const fromAgui = ({ role, content, toolCalls, toolCallId }) =>
  coerceMessageLikeToMessage({
    role,
    content: content ?? "",
    ...(toolCalls ? { tool_calls: toolCalls } : {}),
    ...(toolCallId ? { tool_call_id: toolCallId } : {}),
  });

serve(
  {
    name: "langgraph-js",
    version: packages.dependencies["@langchain/langgraph"],
    channels: ["M", "T", "E", "R", "U"],
    dialect: DIALECT,
    capabilities: { sessions: true, streaming: true, wire_streaming: true },
  },
  (given) => new Session(given),
);
