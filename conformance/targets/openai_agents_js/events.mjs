// The Agents SDK's own events and hooks as AG-UI events, one by one. Adds none, closes none and mends none.

import { call, result, Streamed, text } from "../agent_side.mjs";

/** Show what the hooks of a runner tell of its tools. */
export function hooked(runner, show) {
  runner.on("agent_tool_start", (_context, _agent, _tool, { toolCall }) =>
    show(...call(toolCall.callId, toolCall.name, toolCall.arguments)));
  runner.on("agent_tool_end", (_context, _agent, _tool, output, { toolCall }) => show(result(toolCall.callId, output)));
}

/** The events of one run. */
export class Shown {
  #brackets = new Streamed();
  #responses = 0;
  #run;
  /** Why the last reply ended, as its chunks say. */
  reason = null;

  constructor(run) {
    this.#run = run;
  }

  /** An event of the stream. Calls are told of whole, once their reply is there. */
  event(event) {
    if (event.type === "raw_model_stream_event") return this.#raw(event.data);
    if (event.type !== "run_item_stream_event") return [];
    const { name, item } = event;
    switch (name) {
      case "message_output_created":
        // Its text was streamed; what was not, such as a refusal, has no text here.
        return [];
      case "reasoning_item_created":
        return reasoning(`${this.#run}-${this.#responses}-reasoning`, item.rawItem);
      case "tool_called":
        return call(item.rawItem.callId, item.rawItem.name, item.rawItem.arguments);
      case "tool_output":
        return [result(item.rawItem.callId, item.output)];
      default:
        return [];
    }
  }

  /** A message that a run made which was not streamed. */
  message(item) {
    const id = `${this.#run}-${(this.#responses += 1)}`;
    if (item.type === "reasoning_item") return reasoning(id, item.rawItem);
    return item.type === "message_output_item" ? text(id, item.content) : [];
  }

  #raw(data) {
    switch (data.type) {
      case "response_started":
        this.#responses += 1;
        return [];
      case "model":
        this.reason = data.event.choices?.[0]?.finish_reason ?? this.reason;
        return [];
      case "output_text_delta":
        return this.#brackets.text(`${this.#run}-${this.#responses}`, data.delta);
      case "response_done":
        return this.#brackets.end();
      default:
        return [];
    }
  }
}

const reasoning = (id, { rawContent = [] }) =>
  rawContent.length ? text(id, rawContent.map((part) => part.text).join(""), "REASONING_MESSAGE", "reasoning") : [];

/** Why the last reply of a run ended: of a whole reply the body says so, of a streamed one a chunk. */
export const finishReason = (made, shown) =>
  made.rawResponses.at(-1)?.providerData?.choices?.[0]?.finish_reason ?? shown.reason;

/** The run's tokens, where the model reported any. */
export function spent({ runContext: { usage } }) {
  return usage.totalTokens ? { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens } : undefined;
}
