// The AI SDK's own parts as AG-UI events, one by one. Adds none, closes none and mends none.

import { call, result, text } from "../agent_side.mjs";

// The bracket in which a part of a reply travels, and the role its start names.
const BRACKETS = { text: ["TEXT_MESSAGE", "assistant"], reasoning: ["REASONING_MESSAGE", "reasoning"] };

/** A whole reply, as generateText has it before it runs the calls; `within` names its step. */
export const reply = (content, within) =>
  content.flatMap((part, index) => {
    if (part.type === "tool-call") return call(part.toolCallId, part.toolName, part.input);
    return part.type in BRACKETS ? text(`${within}-${index}`, part.text, ...BRACKETS[part.type]) : [];
  });

/** What a call gave back; an error as the model is told of it. */
export function resulted(part) {
  if (part.type === "tool-result") return [result(part.toolCallId, part.output)];
  if (part.type === "tool-error") return [result(part.toolCallId, part.error?.message ?? part.error)];
  return [];
}

/** A part of streamText's stream; `within` names its step. A call is shown where its input streams, and not once more when it is whole. */
export function shown(part, within) {
  switch (part.type) {
    case "tool-input-start":
      return [{ type: "TOOL_CALL_START", toolCallId: part.id, toolCallName: part.toolName }];
    case "tool-input-delta":
      return part.delta ? [{ type: "TOOL_CALL_ARGS", toolCallId: part.id, delta: part.delta }] : [];
    case "tool-input-end":
      return [{ type: "TOOL_CALL_END", toolCallId: part.id }];
    default:
      return [...piece(part, `${within}-${part.id}`), ...resulted(part)];
  }
}

function piece(part, messageId) {
  const [kind, what] = part.type.split("-");
  if (!(kind in BRACKETS)) return [];
  const [bracket, role] = BRACKETS[kind];
  switch (what) {
    case "start":
      return [{ type: `${bracket}_START`, messageId, role }];
    case "delta":
      return part.text ? [{ type: `${bracket}_CONTENT`, messageId, delta: part.text }] : [];
    case "end":
      return [{ type: `${bracket}_END`, messageId }];
    default:
      return [];
  }
}

/** The run's tokens, where the model reported any. */
export const spent = ({ inputTokens, outputTokens }) =>
  inputTokens === undefined && outputTokens === undefined ? undefined : { inputTokens, outputTokens };
