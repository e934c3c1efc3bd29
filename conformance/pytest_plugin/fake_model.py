"""The scripted model alone, for a test that drives its own agent: a script in, an address and what was asked out."""

import importlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from conformance.adapters.guest import Guest
from conformance.agent_side import RunInput
from conformance.dialect import Dialect
from conformance.errors import LoadError, Problem
from conformance.loading.schema_check import problems
from conformance.printable import excerpt
from conformance.pytest_plugin.stage import Stage
from conformance.recorder import Recorder
from conformance.scenario import Scenario, scenario
from conformance.session import Session
from fake_models.httpx_transport import transport

#: The one run of such a model: it lasts as long as the test.
RUN = "r1"
#: What a scenario has to say and a test that drives its own agent does not.
TOLD = {"id": "fake-model", "title": "A test's own", "why": "A test drives its own agent."}


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A scripted tool that was run; `error` holds type and message where it raised."""

    name: str
    arguments: Any
    result: Any = None
    error: Mapping[str, Any] | None = None


class FakeModel:
    """
    A model that plays its turns to whatever asks it.

    In `transport` time is the script's own and none passes; behind `base_url` a scripted delay takes as long as it says.
    """

    def __init__(self, plan: Scenario, stage: Callable[[], Stage], *, chunking: str, check: bool) -> None:
        self._stage = stage
        self._check = check
        self._plan = plan
        self._recorder = Recorder(plan.clock)
        self._session = Session("s1", plan, Dialect(), self._recorder, chunking=chunking)
        self._root: str | None = None
        self._token = secrets.token_urlsafe(9)
        self._session.begin(RunInput(RUN, "s1", {}), plan.runs[0])
        self.api_key = self._session.api_key
        self.model_name = self._session.model_name

    @property
    def base_url(self) -> str:
        """Where a client of the provider's own kind finds the model: a loopback address, served from now on."""
        return f"{self._served()}/v1"

    @property
    def tools_url(self) -> str:
        """Where the scripted tools stand: POST the arguments below it to a tool's name."""
        return f"{self._served()}/tools"

    def transport(self, library: Literal["httpx2", "httpx"] = "httpx2") -> Any:
        """Give a transport for a client of this library, so that an SDK built on it needs no socket."""
        return transport(self._session.model, importlib.import_module(library))

    def async_transport(self, library: Literal["httpx2", "httpx"] = "httpx2") -> Any:
        """Give the same for an asynchronous client."""
        return self.transport(library)

    def call_tool(self, name: str, arguments: Mapping[str, Any], call_id: str | None = None) -> Any:
        """Run a scripted tool. Raises `conformance.agent_side.ToolFailed` where it raises or refuses its arguments."""
        return self._session.call_tool(name, arguments, call_id)

    @property
    def requests(self) -> tuple[Any, ...]:
        """The bodies that came in, as they were received, in order; refused ones too."""
        return tuple(record.data["body"] for record in self._recorder.records if record.kind == "model/request")

    @property
    def replies(self) -> tuple[Mapping[str, Any], ...]:
        """What was answered from the script, as the records `model/reply` of docs/recording.md."""
        return tuple(record.data for record in self._recorder.records if record.kind == "model/reply")

    @property
    def tools_run(self) -> tuple[ToolRun, ...]:
        """The scripted tools that were run, in order of their beginning."""
        ends = {
            record.data["exec"]: record.data
            for record in self._recorder.records
            if record.kind in ("tool/result", "tool/error")
        }
        begun = [record.data for record in self._recorder.records if record.kind == "tool/start"]
        return tuple(
            ToolRun(one["tool"], one["arguments"], end.get("result"), end.get("error"))
            for one in begun
            for end in [ends.get(one["exec"], {})]
        )

    def problems(self, *, unplayed: bool = True) -> Iterator[str]:
        """What of the script and the requests did not fit; with `unplayed`, turns that nobody asked for as well."""
        if not self._check:
            return
        calls = [record.data["call"] for record in self._recorder.records if record.kind == "model/request"]
        for record in self._recorder.records:
            if record.kind == "model/refused":
                yield _refusal(record.data, calls.index(record.data["call"]) + 1, self.requests)
        for turn in self._session.model.unplayed(RUN) if unplayed else ():
            spelled = excerpt(json.dumps(self._plan.data["runs"][0]["model"][turn], ensure_ascii=False))
            yield (
                f"fake_model: turn {turn} of the script was never asked for: {spelled}; {len(calls)} request"
                f"{'' if len(calls) == 1 else 's'} came. Mark it optional, or give the model check=False, if that is right"
            )

    def close(self) -> None:
        """End the model: what waits on it comes back, and what is still asked is late."""
        self._session.release()
        self._session.finish(RUN)
        if self._root is not None:
            self._stage().run(_unmounted(self._stage(), self._token))

    def _served(self) -> str:
        if self._root is None:
            self._root = self._stage().run(_mounted(self._stage(), self._token, Guest(self._session, _at_once)))
        return self._root


class Models:
    """The fake models of one test: called, it makes one more."""

    def __init__(self, stage: Callable[[], Stage]) -> None:
        self._stage = stage
        self._made: list[FakeModel] = []

    def __call__(
        self,
        turns: Sequence[Mapping[str, Any]],
        *,
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        chunking: str = "whole",
        check: bool = True,
        **more: Any,
    ) -> FakeModel:
        """
        Make a model of turns as a scenario's run has them under `model`.

        A tool may do without `description` and `parameters`. `check=False`: a script that does not fit fails nothing. `more`
        are further keys of a scenario, such as `clock`.

        Raises:
            LoadError: these are no turns or no tools.
        """
        __tracebackhide__ = True
        try:
            plan = _plan(turns, tools or {}, more)
        except LoadError as error:
            raise error.with_traceback(None) from None
        self._made.append(FakeModel(plan, self._stage, chunking=chunking, check=check))
        return self._made[-1]

    def problems(self, *, unplayed: bool) -> list[str]:
        """What did not fit, of all of them."""
        return [problem for one in self._made for problem in one.problems(unplayed=unplayed)]

    def close(self) -> None:
        """End them all."""
        for one in self._made:
            one.close()


def _plan(turns: Any, tools: Mapping[str, Any], more: Mapping[str, Any]) -> Scenario:
    full = {name: {"description": name, "parameters": {"type": "object"}} | dict(tool) for name, tool in tools.items()}
    run = {"user": "the test's own", "model": [dict(turn) if isinstance(turn, Mapping) else turn for turn in turns]}
    data = TOLD | ({"tools": full} if full else {}) | dict(more) | {"runs": [run]}
    if wrong := problems(data):
        raise LoadError([Problem(one.path, one.message) for one in wrong])
    return scenario(data)


def _refusal(refused: Mapping[str, Any], number: int, requests: Sequence[Any]) -> str:
    rule = f", rule {refused['rule']}" if refused["rule"] else ""
    body = requests[number - 1]
    last = body["messages"][-1:] if isinstance(body, dict) and isinstance(body.get("messages"), list) else body
    return (
        f"fake_model: request {number} was refused with {refused['status']} (by {refused['by']}{rule}): "
        f"{excerpt(refused['message'])}; its last message: {excerpt(json.dumps(last, ensure_ascii=False))}"
    )


async def _at_once() -> None:
    """Nothing comes before a request here: the agent has no other channel."""


async def _mounted(stage: Stage, token: str, guest: Guest) -> str:
    return (await stage.server()).mount(token, guest)


async def _unmounted(stage: Stage, token: str) -> None:
    await (await stage.server()).unmount(token)
