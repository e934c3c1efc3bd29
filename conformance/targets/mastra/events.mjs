// Mastra's own chunks as AG-UI events, one by one. Adds none, closes none and mends none.

import { result, text } from "../agent_side.mjs";

// The bracket in which a part of a reply travels, and the role its start names.
const BRACKETS = { text: ["TEXT_MESSAGE", "assistant"], reasoning: ["REASONING_MESSAGE", "reasoning"] };

/** The events of one run. A call is shown where its input comes, and not once more when it is whole. */
export class Shown {
  #run;
  #step = 1;

  constructor(run) {
    this.#run = run;
  }

  /** A step is over. */
  step() {
    this.#step += 1;
  }

  /** A chunk of `generate`, which has each text and each thought in one. */
  whole(chunk) {
    const { type, payload } = chunk;
    const [kind, what] = type.split("-");
    return kind in BRACKETS && what === "delta" ? text(this.#id(kind, payload), payload.text, ...BRACKETS[kind]) : other(chunk);
  }

  /** A chunk of `stream`. */
  piece(chunk) {
    const { type, payload } = chunk;
    if (type === "step-finish") this.step();
    const [kind, what] = type.split("-");
    if (!(kind in BRACKETS)) return other(chunk);
    const [bracket, role] = BRACKETS[kind];
    const messageId = this.#id(kind, payload);
    switch (what) {
      case "start":
        return [{ type: `${bracket}_START`, messageId, role }];
      case "delta":
        return payload.text ? [{ type: `${bracket}_CONTENT`, messageId, delta: payload.text }] : [];
      case "end":
        return [{ type: `${bracket}_END`, messageId }];
      default:
        return [];
    }
  }

  #id(kind, { id }) {
    return `${this.#run}-${this.#step}-${kind}-${id}`;
  }
}

function other({ type, payload }) {
  switch (type) {
    case "tool-call-input-streaming-start":
      return [{ type: "TOOL_CALL_START", toolCallId: payload.toolCallId, toolCallName: payload.toolName }];
    case "tool-call-delta": {
      const delta = payload.argsTextDelta;
      return delta ? [{ type: "TOOL_CALL_ARGS", toolCallId: payload.toolCallId, delta }] : [];
    }
    case "tool-call-input-streaming-end":
      return [{ type: "TOOL_CALL_END", toolCallId: payload.toolCallId }];
    case "tool-result":
      return [result(payload.toolCallId, payload.result)];
    case "tool-error":
      return [result(payload.toolCallId, payload.error?.message ?? payload.error)];
    default:
      return [];
  }
}

/** The run's tokens, where the model reported any. */
export const spent = ({ inputTokens, outputTokens }) =>
  inputTokens === undefined && outputTokens === undefined ? undefined : { inputTokens, outputTokens };
