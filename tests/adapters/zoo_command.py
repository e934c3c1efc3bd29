"""
Agents in a process of their own, each with one way to go wrong: `zoo_command.py WAY`. Speaks the protocol by hand.

Each way goes wrong in runs whose user says "wrong", and answers at once in the others.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

MEGABYTES = 100
SLEEPER = ["sleep", "600"]


def say(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def event(run, kind, **fields):
    say(type="event", run=run, event={"type": kind, **fields})


def ask(given):
    body = {"model": given["model"]["name"], "messages": given["input"]["messages"]}
    headers = {"Authorization": f"Bearer {given['model']['api_key']}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"{given['model']['base_url']}/chat/completions", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def normal(given):
    run, ids = given["run"], {"threadId": given["session"], "runId": given["run"]}
    event(run, "RUN_STARTED", **ids)
    text = ask(given)
    event(run, "TEXT_MESSAGE_START", messageId="t1", role="assistant")
    event(run, "TEXT_MESSAGE_CONTENT", messageId="t1", delta=text)
    event(run, "TEXT_MESSAGE_END", messageId="t1")
    event(run, "RUN_FINISHED", **ids)
    say(type="result", run=run, outcome={"kind": "answered", "reason": None}, text=text)


def exception(given):
    event(given["run"], "RUN_STARTED", threadId=given["session"], runId=given["run"])
    say(type="error", run=given["run"], exception="KeyError", message="no such word")


def hang(given):
    event(given["run"], "RUN_STARTED", threadId=given["session"], runId=given["run"])
    time.sleep(600)


def death_in_mid_event(given):
    sys.stderr.write("out of memory\n")
    sys.stderr.flush()
    sys.stdout.write(json.dumps({"type": "event", "run": given["run"], "event": {"type": "RUN_STARTED"}})[:30])
    sys.stdout.flush()
    os._exit(9)


def close_before_the_end(given):
    event(given["run"], "RUN_STARTED", threadId=given["session"], runId=given["run"])
    os.close(1)
    time.sleep(600)


def half_a_line(given):
    sys.stdout.write('{"type":"event","run"')
    sys.stdout.flush()
    time.sleep(600)


def garbage_line(given):
    sys.stdout.write("DEBUG loading the model\n")
    sys.stdout.flush()
    normal(given)


def unknown_type(given):
    say(type="thought", run=given["run"])
    normal(given)


def endless_line(given):
    block = b"x" * 1_000_000
    for _ in range(MEGABYTES):
        os.write(1, block)
    time.sleep(600)


def flood_of_events(given):
    line = {"type": "event", "run": given["run"], "event": {"type": "CUSTOM", "name": "n", "value": "x" * 100_000}}
    block = json.dumps(line).encode() + b"\n"
    for _ in range(10 * MEGABYTES):
        os.write(1, block)
    time.sleep(600)


def flood_on_stderr(given):
    block = b"x" * 99_999 + b"\n"
    for _ in range(10 * MEGABYTES):
        os.write(2, block)
    normal(given)


def child_left_behind(given):
    child = subprocess.Popen(SLEEPER)
    sys.stderr.write(f"left {child.pid}\n")
    sys.stderr.flush()
    os._exit(3)


def daemon_left_behind(given):
    child = subprocess.Popen(SLEEPER, start_new_session=True)
    sys.stderr.write(f"left {child.pid}\n")
    sys.stderr.flush()
    os._exit(3)


def deaf_to_term(given):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang(given)


def ends_twice(given):
    normal(given)
    say(type="result", run=given["run"], outcome=None, text=None)


def run_of_nobody(given):
    event("r99", "RUN_STARTED", threadId="s", runId="r99")
    normal(given)


WAYS = {name: value for name, value in globals().items() if callable(value) and name not in ("say", "event", "ask")}


def main(way):
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            say(
                type="ready",
                protocol=1,
                agent={"name": "zoo", "version": "1", "language": "python"},
                channels=["M", "T", "E", "R"],
                capabilities={"sessions": True},
            )
        elif message["type"] == "run":
            wrong = message["input"]["messages"][-1]["content"] == "wrong"
            (WAYS[way] if wrong else normal)(message)
        elif message["type"] == "bye":
            return


if __name__ == "__main__":
    main(sys.argv[1])
