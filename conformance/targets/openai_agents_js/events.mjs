// The Agents SDK's own replies, events and hooks as AG-UI events, one by one. Adds none, closes none and mends none.

import { call, result, Streamed, text } from "../agent_side.mjs";

/** The events of one run. */
export class Shown {
  #brackets = new Streamed();
  #replies = 0;
  #run;
  /** Why the last reply ended: of a whole reply the body says so, of a streamed one a chunk. */
  reason = null;

  constructor(run) {
    this.#run = run;
  }

  /** A whole reply. */
  reply({ output, providerData }) {
    this.#replies += 1;
    this.reason = providerData?.choices?.[0]?.finish_reason ?? null;
    return output.flatMap((item, index) => this.#whole(item, `${this.#run}-${this.#replies}-${index}`));
  }

  /** What a tool gave back; an error as the model is told of it. */
  result({ callId }, output) {
    return result(callId, output);
  }

  /** An event of the stream. Text is told of as it comes, calls and thinking whole, once their reply is there. */
  event({ type, name, item, data }) {
    if (type === "raw_model_stream_event") return this.#raw(data);
    if (name === "tool_output") return [this.result(item.rawItem, item.output)];
    if (name === "tool_called") return this.#whole(item.rawItem);
    return name === "reasoning_item_created" ? this.#whole(item.rawItem, `${this.#run}-${this.#replies}-thinking`) : [];
  }

  #whole(item, id) {
    switch (item.type) {
      case "message":
        return text(id, item.content.map((part) => part.text ?? part.refusal ?? "").join(""));
      case "reasoning":
        return text(id, item.rawContent.map((part) => part.text).join(""), "REASONING_MESSAGE", "reasoning");
      case "function_call":
        return call(item.callId, item.name, item.arguments);
      default:
        return [];
    }
  }

  #raw(data) {
    switch (data.type) {
      case "response_started":
        this.#replies += 1;
        this.reason = null;
        return [];
      case "model":
        this.reason = data.event.choices?.[0]?.finish_reason ?? this.reason;
        return [];
      case "output_text_delta":
        return this.#brackets.text(`${this.#run}-${this.#replies}`, data.delta);
      case "response_done":
        return this.#brackets.end();
      default:
        return [];
    }
  }
}

/** The run's tokens, where the model reported any. */
export const spent = ({ runContext: { usage } }) =>
  usage.totalTokens ? { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens } : undefined;
