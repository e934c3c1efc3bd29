"""Models with a habit instead of a script: a persona, a request and a count to a reply. Pure; the same three give the same reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType

from fake_models.arguments import arguments
from fake_models.messages import EMPTY, Cut, ErrorReply, ModelRequest, Part, Reply, Text, ToolCall, Usage, World
from fake_models.template import as_json

#: The share of requests that a persona spoils where none is given.
DEFAULT_RATE = 0.3
#: What a persona that fails answers instead: each is worth another try, and says that it may come at once.
FAILURES = (429, 500, 503)


@dataclass(frozen=True, slots=True)
class Persona:
    """Who answers. `rate` is the share of requests that are spoiled and `seed` decides which; most personas do without either."""

    name: str
    seed: int = 0
    rate: float = DEFAULT_RATE


@dataclass(frozen=True, slots=True)
class Habit:
    """What a persona is known for, how it answers its request number `count`, from 0, and whether `rate` matters to it."""

    says: str
    answer: Callable[[Persona, ModelRequest, World, int], Reply]
    spoils: bool = False


def reply(persona: Persona, request: ModelRequest, world: World, count: int) -> Reply:
    """What the persona says to its request number `count`, from 0. Never raises; its name must stand in `PERSONAS`."""
    said = PERSONAS[persona.name].answer(persona, request, world, count)
    return said if said.error else replace(said, usage=_usage(request, said))


def _usage(request: ModelRequest, said: Reply) -> Usage:
    texts = [part.arguments if isinstance(part, ToolCall) else part.text or "" for part in said.parts]
    return Usage(request.size // 4, sum(map(len, texts)) // 4 + 1)


def _echo(_persona: Persona, request: ModelRequest, _world: World, _count: int) -> Reply:
    return _text(_last_user_text(request) or "You have said nothing yet.")


def _looper(_persona: Persona, request: ModelRequest, world: World, _count: int) -> Reply:
    call = _call(request, world, 1)
    return _text("I would call a tool again, but there is none that I can call.") if call is None else _calls(call)


def _never_done(_persona: Persona, request: ModelRequest, world: World, count: int) -> Reply:
    # Each call differs from the one before, so that what only counts equal calls does not end it.
    call = _call(request, world, count + 1)
    said = Text(f"Step {count + 1} is done, but I am not finished yet. I go on.")
    return Reply(parts=(said,)) if call is None else _calls(said, call)


def _empty(_persona: Persona, _request: ModelRequest, _world: World, _count: int) -> Reply:
    return Reply()


def _liar(_persona: Persona, _request: ModelRequest, _world: World, _count: int) -> Reply:
    return _text("Done. I did everything you asked for, and all of it worked.")


def _flaky(persona: Persona, request: ModelRequest, world: World, count: int) -> Reply:
    dice = _dice(persona, count)
    return _failure(request, world, dice) if dice.random() < persona.rate else _echo(persona, request, world, count)


def _chaos(persona: Persona, request: ModelRequest, world: World, count: int) -> Reply:
    dice = _dice(persona, count)
    return dice.choice(SPOILS)(request, world, dice) if dice.random() < persona.rate else _behaves(request, world)


#: The personas by name.
PERSONAS: Mapping[str, Habit] = MappingProxyType(
    {
        "echo": Habit("answers with the last text of the user", _echo),
        "looper": Habit("calls the first tool for ever, always with the same arguments", _looper),
        "never_done": Habit(
            "says that it goes on and calls a tool each time, never with the same arguments", _never_done
        ),
        "empty": Habit("says nothing", _empty),
        "liar": Habit("says that all is done, and has called nothing", _liar),
        "flaky": Habit("fails a share of requests with 429, 500 or 503, else echoes", _flaky, spoils=True),
        "chaos": Habit(
            "breaks a share of replies in every way that ends, else calls a tool once and answers", _chaos, spoils=True
        ),
    }
)


def _behaves(request: ModelRequest, world: World) -> Reply:
    """One tool call, and an answer once there is its result."""
    call = _call(request, world, 1)
    asked = max((n for n, message in enumerate(request.messages) if message.role == "user"), default=-1)
    if call is None or any(message.role == "tool" for message in request.messages[asked + 1 :]):
        return _text(f"You asked: {_last_user_text(request)!r}. That is all I know.")
    return _calls(call)


def _failure(_request: ModelRequest, _world: World, dice: Random) -> Reply:
    return Reply(error=ErrorReply(dice.choice(FAILURES), "", retry_after_s=0))


def _cut(request: ModelRequest, world: World, dice: Random) -> Reply:
    return replace(_behaves(request, world), broken=Cut(after_bytes=dice.randrange(200), reset=dice.random() < 0.5))


def _silence(_request: ModelRequest, _world: World, dice: Random) -> Reply:
    return Reply(parts=dice.choice(tuple(EMPTY.values())))


def _truncated(_request: ModelRequest, _world: World, _dice: Random) -> Reply:
    return Reply(parts=(Text("I was about to say"),), stop="length")


def _malformed(request: ModelRequest, world: World, dice: Random) -> Reply:
    call = _call(request, world, 1)
    if call is None:
        return _silence(request, world, dice)
    return _calls(replace(call, arguments=dice.choice(('{"', "[1]", "null", "", "call it"))))


def _unknown_tool(request: ModelRequest, world: World, dice: Random) -> Reply:
    call = _call(request, world, 1)
    return _silence(request, world, dice) if call is None else _calls(replace(call, name=f"{call.name}_2"))


def _wrong_finish(request: ModelRequest, world: World, dice: Random) -> Reply:
    """Calls that end as a text does, a text that ends as calls do, or an ending cut short that was none."""
    said = _behaves(request, world)
    return replace(said, stop=dice.choice([stop for stop in ("stop", "length", "tool_calls") if stop != said.stop]))


#: What chaos does to a reply. None of it lasts for ever: an agent gets an end to everything it asks.
SPOILS = (_failure, _cut, _silence, _truncated, _malformed, _unknown_tool, _wrong_finish)


def _dice(persona: Persona, count: int) -> Random:
    return Random(f"{persona.seed}:{count}")  # noqa: S311 - chance that can be had again, no secret


def _text(text: str) -> Reply:
    return Reply(parts=(Text(text),))


def _calls(*parts: Part) -> Reply:
    return Reply(parts=parts, stop="tool_calls")


def _call(request: ModelRequest, world: World, number: int) -> ToolCall | None:
    """A call of the first tool that may be called, with arguments that differ by `number`; None if there is no such tool."""
    free = request.callable_tools
    name = request.tool_choice if request.tool_choice in free else next(iter(free), None)
    tool = next((tool for tool in request.tools or () if tool.name == name), None)
    if tool is None:
        return None
    return ToolCall(f"call_{world.calls_made + 1}", tool.name, as_json(arguments(tool.parameters, number)))


def _last_user_text(request: ModelRequest) -> str:
    return next((m.content for m in reversed(request.messages) if m.role == "user" and m.content), "")
