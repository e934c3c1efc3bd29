// LangGraph's own stream as AG-UI events, piece by piece. Adds none, closes none and mends none.

import { AIMessage, AIMessageChunk, ToolMessage } from "@langchain/core/messages";
import { call, result, Streamed, text } from "../agent_side.mjs";

/** The events of one run. `whole`: replies are not streamed, and are shown once their step is over. */
export class Shown {
  #brackets = new Streamed();
  #calls = new Map();
  #whole;
  /** The last reply. */
  last = null;

  constructor({ whole }) {
    this.#whole = whole;
  }

  /** A piece of a reply. The mode gives the tools' messages too, which their step shows already. */
  piece(message) {
    if (!AIMessageChunk.isInstance(message)) return [];
    const pieces = message.tool_call_chunks ?? [];
    return [...this.#brackets.text(message.id, message.text), ...pieces.flatMap((piece) => this.#call(piece))];
  }

  /** What a step of the graph gave: results, or a reply. */
  step(update) {
    return Object.values(update)
      .flatMap((given) => given?.messages ?? [])
      .flatMap((message) => this.#message(message));
  }

  #message(message) {
    // Without an id no call was shown that it could belong to.
    if (ToolMessage.isInstance(message)) return message.tool_call_id ? [result(message.tool_call_id, message.content)] : [];
    if (!AIMessage.isInstance(message)) return [];
    this.last = message;
    const shown = this.#whole ? reply(message) : this.#brackets.end();
    this.#calls.clear();
    return [...shown, ...usage(message)];
  }

  // As LangChain joins them: by index, unless another id says that a new call begins. Calls of one id cannot be open side by side.
  #call({ index, id, name, args }) {
    const others = id ? [...this.#calls].filter(([at, open]) => at !== index && open === id) : [];
    if (id) this.#calls.set(index, id);
    const ended = others.flatMap(([at]) => this.#brackets.end(`${at}-${id}`));
    return [...ended, ...this.#brackets.call(`${index}-${this.#calls.get(index)}`, id, name, args)];
  }
}

function reply({ id, text: said, tool_calls = [], invalid_tool_calls = [] }) {
  const calls = [...tool_calls, ...invalid_tool_calls].flatMap((one) => call(one.id, one.name, one.args));
  return [...(said ? text(id, said) : []), ...calls];
}

function usage({ id: replyId, usage_metadata: spent }) {
  if (spent?.total_tokens === undefined) return [];
  const value = { replyId, inputTokens: spent.input_tokens, outputTokens: spent.output_tokens };
  return [{ type: "CUSTOM", name: "token_usage", value }];
}
