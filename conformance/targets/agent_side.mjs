// What all Node targets share: the agent's end of the command protocol (docs/protocol.md), and AG-UI events as JSON.
//
// Knows no framework and mends nothing: an event is said where an adapter shows it, and what a run throws ends that run. A target
// imports this file before its framework, which may print on import: stdout is the protocol's, all that is printed goes to stderr.

import { createInterface } from "node:readline";

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

const say = (message) => write(`${JSON.stringify(message)}\n`);

/**
 * Speak the protocol on stdin and stdout until the kit says bye or is gone.
 *
 * `open(given)` opens a session with its first run; its `run(given, show)` shows events and gives `{kind, reason, text}` or throws.
 */
export async function serve({ name, version, ...declared }, open) {
  const sessions = new Map();
  for await (const line of createInterface({ input: process.stdin })) {
    const given = JSON.parse(line);
    if (given.type === "bye") break;
    if (given.type === "hello")
      say({ type: "ready", protocol: 1, agent: { name, version, language: "javascript" }, ...declared });
    if (given.type === "run") say({ run: given.run, ...(await ended(given, sessions, open)) });
  }
  // Sockets that a framework keeps open are nobody's to wait for.
  process.exit();
}

async function ended(given, sessions, open) {
  try {
    if (!sessions.has(given.session)) sessions.set(given.session, open(given));
    const session = sessions.get(given.session);
    const { kind, reason = null, text = null } = await session.run(given, (...events) => {
      for (const event of events) say({ type: "event", run: given.run, event });
    });
    return { type: "result", outcome: { kind, reason }, text };
  } catch (error) {
    return { type: "error", exception: classOf(error), message: String(error?.message ?? asText(error)) };
  }
}

/** An error's name, which many classes leave at "Error": those are told by their constructor. */
function classOf(error) {
  if (!(error instanceof Error)) return error?.constructor?.name ?? typeof error;
  return error.name && error.name !== "Error" ? error.name : error.constructor.name;
}

/** A tool raised. `rejected`: it refused its arguments and did nothing. */
export class ToolFailed extends Error {
  constructor({ type, message, rejected = false }) {
    super(`${type}: ${message}`);
    this.name = "ToolFailed";
    this.rejected = rejected;
  }
}

/** Run one of the scenario's tools; ToolFailed where it raises or refuses its arguments. */
export async function callTool(given, name, args, callId) {
  const headers = { "Content-Type": "application/json" };
  // A header is bytes, and fetch takes a character for each.
  if (callId) headers["X-Tool-Call-Id"] = Buffer.from(callId).toString("latin1");
  const url = `${given.tools_url}/${encodeURIComponent(name)}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(args) });
  const answer = await response.json();
  if (response.status !== 200) throw new ToolFailed(answer.error);
  return answer.result;
}

/** What a run brings: its system text, or null, and the other messages. */
export function parted(given) {
  const system = given.input.messages.filter(({ role }) => role === "system").map(({ content }) => content);
  return [system.join("\n\n") || null, given.input.messages.filter(({ role }) => role !== "system")];
}

// AG-UI events as JSON.

/** The run begins. */
export const started = (given) => ({ type: "RUN_STARTED", threadId: given.input.threadId, runId: given.run });

/** The run is over; `spent` are its tokens as {inputTokens, outputTokens}, where the framework counts them over the run. */
export const finished = (given, spent) => ({
  type: "RUN_FINISHED",
  threadId: given.input.threadId,
  runId: given.run,
  ...(spent ? { usage: [spent] } : {}),
});

/** A whole text in its bracket; thinking has the bracket REASONING_MESSAGE and the role reasoning. */
export const text = (messageId, content, bracket = "TEXT_MESSAGE", role = "assistant") => [
  { type: `${bracket}_START`, messageId, role },
  ...(content ? [{ type: `${bracket}_CONTENT`, messageId, delta: content }] : []),
  { type: `${bracket}_END`, messageId },
];

/** A whole call in its bracket; arguments that are no text are shown as JSON. A call without an id cannot be shown. */
export function call(toolCallId, toolCallName, args) {
  if (toolCallId === null || toolCallId === undefined) return [];
  const pieces = (args ?? "") === "" ? [] : [{ type: "TOOL_CALL_ARGS", toolCallId, delta: asText(args) }];
  return [{ type: "TOOL_CALL_START", toolCallId, toolCallName }, ...pieces, { type: "TOOL_CALL_END", toolCallId }];
}

/** What a call gave back; content that is no text is shown as JSON. */
export const result = (toolCallId, content) => ({
  type: "TOOL_CALL_RESULT",
  messageId: `${toolCallId}-result`,
  toolCallId,
  content: asText(content),
});

/** A text as it is, anything else as JSON. */
export const asText = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "null"));

/**
 * The brackets of one reply while it streams.
 *
 * A bracket opens with the first piece that is shown for its key, by which the framework tells a text or a call apart; `end` closes
 * one, or all that are open where the framework closes the reply as a whole.
 */
export class Streamed {
  #open = new Map();

  /** A piece of a text. */
  text(key, delta, bracket = "TEXT_MESSAGE", role = "assistant") {
    if (!delta) return [];
    const start = this.#open.has(key) ? [] : [{ type: `${bracket}_START`, messageId: key, role }];
    this.#open.set(key, { type: `${bracket}_END`, messageId: key });
    return [...start, { type: `${bracket}_CONTENT`, messageId: key, delta }];
  }

  /** A piece of a call. A call that never got an id or a name cannot be shown. */
  call(key, id, name, delta) {
    const known = this.#open.get(key)?.toolCallId;
    if (!known && !(id && name)) return [];
    const toolCallId = known ?? id;
    this.#open.set(key, { type: "TOOL_CALL_END", toolCallId });
    const start = known ? [] : [{ type: "TOOL_CALL_START", toolCallId, toolCallName: name }];
    return [...start, ...(delta ? [{ type: "TOOL_CALL_ARGS", toolCallId, delta }] : [])];
  }

  /** Close what is open under some keys, or everything. */
  end(...keys) {
    return (keys.length ? keys : [...this.#open.keys()]).flatMap((key) => {
      const end = this.#open.get(key);
      return this.#open.delete(key) ? [end] : [];
    });
  }
}
