"""
Hand-written recordings, told step by step: the tests' way to say what an agent did without running one.

    s = Story(max_iters=1)
    s.event("RUN_STARTED")
    s.ask()                                  # an honest request: the history so far, all tools
    s.reply(calls=[("look", {}, "c1")])      # what the model said; joins the history
    s.execute("look", {}, "c1", 42)          # start + result; joins the history
    s.ask(tools=None)
    s.reply(text="42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    recording = s.recording()

Nothing is checked or repaired: every argument overrides the honest default, so that any fault can be told.
"""

import json
from typing import Any

from conformance.recording import Header, Record, Recording

LOOK = {"description": "Looks.", "parameters": {"type": "object"}, "returns": 42}
UNSET: Any = object()


class Story:
    def __init__(
        self,
        *,
        user="What is it?",
        max_iters=None,
        tools=None,
        dialect=None,
        capabilities=None,
        channels="MTERUL",
        profile=None,
        scenario=None,
        turns=None,
    ):
        self.tools = {"look": LOOK} if tools is None else tools
        self.plan = {
            "id": "told",
            "title": "Told by hand",
            "why": "A test tells it.",
            "tools": self.tools,
            "runs": [{"user": user, "model": turns or [{"answer": "42"}]}],
            **(scenario or {}),
        }
        if max_iters is not None:
            self.plan.setdefault("limits", {"max_iters": max_iters})
        self.header = {
            "channels": tuple(channels),
            "dialect": dialect or {},
            "capabilities": capabilities or {},
            "agent": {"name": "told", "profile": profile},
        }
        self.records: list[Record] = []
        self.history: list[dict[str, Any]] = []
        self.calls = self.execs = self.runs = 0
        self.at_s = 0.0
        self.run = ""
        self.body: dict[str, Any] = {}
        self.begin(user, max_iters=max_iters)

    def record(self, source, type, **data):
        self.records.append(Record(len(self.records) + 1, self.at_s, source, type, data))
        return self.records[-1].seq

    def begin(self, user, *, max_iters=None, session="s1", tool_choice=None, stream=False):
        """A run starts; a second call is the next run on the session, its history carried."""
        self.runs += 1
        self.run = f"r{self.runs}"
        if user is not None:
            self.history.append({"role": "user", "content": user})
        given = {"threadId": session, "runId": self.run, "messages": [], "tools": []}
        limits = {} if max_iters is None else {"max_iters": max_iters}
        return self.record(
            "kit",
            "run_start",
            run=self.run,
            session=session,
            input=given,
            limits=limits,
            tool_choice=tool_choice,
            stream=stream,
        )

    def offered(self, names):
        return [
            {
                "type": "function",
                "function": {"name": n, "description": "", "parameters": self.tools.get(n, LOOK)["parameters"]},
            }
            for n in names
        ]

    def ask(
        self, *, messages=None, tools=UNSET, tool_choice=None, side=None, retry_header=None, again=False, extra=None
    ):
        """A request. `tools` is a list of names, None leaves the key out; `again` sends the last body once more."""
        self.calls += 1
        if not again:
            names = list(self.tools) if tools is UNSET else tools
            self.body = {"model": "fake", "messages": list(self.history if messages is None else messages)}
            if names is not None:
                self.body["tools"] = self.offered(names)
            if tool_choice is not None:
                self.body["tool_choice"] = tool_choice
            self.body.update(extra or {})
        return self.record(
            "model",
            "request",
            run=self.run,
            call=f"m{self.calls}",
            wire="openai_chat",
            path="/chat/completions",
            retry_header=retry_header,
            side=side,
            body=self.body,
            bytes=len(json.dumps(self.body, ensure_ascii=False).encode()),
            secrets=[],
        )

    def reply(
        self,
        text=UNSET,
        *,
        calls=(),
        thinking=None,
        stop=None,
        usage=None,
        status=200,
        fault=None,
        by="kit",
        done=True,
        keep=True,
        turn=None,
        parts=None,
    ):
        """What the model says: `calls` are (name, arguments as a value or raw text, id). `keep=False` leaves the history alone."""
        if parts is None:
            parts = [] if thinking is None else [{"type": "thinking", "text": thinking}]
            if text is not UNSET:
                parts.append({"type": "text", "text": text})
            parts += [
                {"type": "tool_call", "id": c, "name": n, "arguments": a if isinstance(a, str) else json.dumps(a)}
                for n, a, c in calls
            ]
        said = [p for p in parts if p["type"] == "tool_call"]
        seq = self.record(
            "model",
            "reply",
            call=f"m{self.calls}",
            turn=self.calls - 1 if turn is None else turn,
            id=f"reply-{self.calls}",
            status=status,
            parts=parts,
            stop=stop or ("tool_calls" if said else "stop"),
            usage=None if usage is None else {"input": usage[0], "output": usage[1]},
            fault=fault,
            resolved=[],
        )
        if done:
            self.record("model", "reply_done", call=f"m{self.calls}", bytes=10, by=by)
        if keep and status == 200 and by == "kit":
            message: dict[str, Any] = {"role": "assistant", "content": None if text is UNSET else text}
            if said:
                message["tool_calls"] = [
                    {"id": p["id"], "type": "function", "function": {"name": p["name"], "arguments": p["arguments"]}}
                    for p in said
                ]
            self.history.append(message)
        return seq

    def wait(self, delay_s):
        """The scenario's clock goes on."""
        self.at_s += delay_s

    def fail(self, status=500, *, message="The server had an error.", code=None, retry_after_s=None):
        """The model answers an error status."""
        body = {"error": {"message": message, "type": "server_error", "param": None, "code": code}}
        error = {"status": status, "body": body, "retry_after_s": retry_after_s}
        return self.reply(parts=[], stop="stop", status=status, fault={"error": error}, keep=False)

    def refused(self, *, by="provider", rule="missing_tool_results", status=400, nearest=None, message="refused"):
        seq = self.record(
            "model", "refused", call=f"m{self.calls}", status=status, by=by, rule=rule, nearest=nearest, message=message
        )
        self.record("model", "reply_done", call=f"m{self.calls}", bytes=10, by="kit")
        return seq

    def execute(self, tool, arguments, call_id, value=UNSET, *, error=None, rejected=False, content=UNSET, keep=True):
        """A tool runs: `value` returned, or `error` = (type, message) raised. Its result joins the history."""
        self.execs += 1
        seq = self.record(
            "tool", "start", run=self.run, exec=f"x{self.execs}", tool=tool, call_id=call_id, arguments=arguments
        )
        if error is not None:
            data = {"type": error[0], "message": error[1], "rejected": rejected}
            self.record("tool", "error", exec=f"x{self.execs}", error=data)
            shown = f"{error[0]}: {error[1]}"
        elif value is not UNSET:
            self.record("tool", "result", exec=f"x{self.execs}", result=value)
            shown = value if isinstance(value, str) else json.dumps(value)
        else:
            return seq
        if keep:
            self.answer(call_id, shown if content is UNSET else content)
        return seq

    def answer(self, call_id, content):
        """A tool message joins the history, whether or not anything ran."""
        self.history.append({"role": "tool", "tool_call_id": call_id, "content": content})

    def event(self, type, *, raised=False, **fields):
        data: dict[str, Any] = {"type": type, **fields}
        if type in ("RUN_STARTED", "RUN_FINISHED"):
            data = {"threadId": "s1", "runId": self.run, **data}
        if type == "RUN_ERROR":
            data.setdefault("message", "failed")
        return self.record("agent", "event", run=self.run, event=data, raised=raised)

    def text(self, text, id="t1", role="assistant"):
        """A whole text message as events."""
        self.event("TEXT_MESSAGE_START", messageId=id, role=role)
        self.event("TEXT_MESSAGE_CONTENT", messageId=id, delta=text)
        return self.event("TEXT_MESSAGE_END", messageId=id)

    def call_events(self, tool, arguments, call_id, result=UNSET):
        """A whole tool call as events, with its result."""
        self.event("TOOL_CALL_START", toolCallId=call_id, toolCallName=tool)
        if arguments:
            self.event("TOOL_CALL_ARGS", toolCallId=call_id, delta=json.dumps(arguments))
        seq = self.event("TOOL_CALL_END", toolCallId=call_id)
        if result is not UNSET:
            self.event("TOOL_CALL_RESULT", messageId=f"r-{call_id}", toolCallId=call_id, content=result, role="tool")
        return seq

    def log(self, message, level="DEBUG"):
        return self.record("agent", "log", run=self.run, level=level, logger="agent", message=message)

    def outcome(self, kind, *, reason=None, text=None):
        return self.record("agent", "outcome", run=self.run, kind=kind, reason=reason, text=text)

    def raises(self, exception="RuntimeError", message="boom"):
        return self.record("agent", "raised", run=self.run, exception=exception, message=message)

    def end(self, how="returned"):
        return self.record("kit", "run_end", run=self.run, how=how, last_seen=None, stdout_tail="", stderr_tail="")

    def recording(self):
        """The recording so far, its last run ended if it was not."""
        ended = {r.data["run"] for r in self.records if r.kind == "kit/run_end"}
        if self.run not in ended:
            self.end()
        return Recording(Header(kit="0", scenario=self.plan, **self.header), tuple(self.records))
