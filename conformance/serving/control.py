"""The control route as an ASGI application: sessions listed, opened, read, reset, failed and closed by whoever drives a test."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from conformance.errors import guess
from conformance.printable import printable
from conformance.recording import to_bytes
from conformance.run_input import limits
from conformance.scenario import Scenario
from conformance.serving.orders import Unfit, Wanted, fault, wanted
from conformance.serving.plans import at, persona_plan, waits_for_anyone
from conformance.serving.sessions import NoSession, Sessions, Standing, TokenTaken
from fake_models.bodies import read

#: What a refusal of ours is in HTTP.
STATUS: Mapping[type[Exception], int] = {NoSession: 404, TokenTaken: 409, Unfit: 422}
#: How many records a journal lacks from its beginning.
DROPPED = "X-Dropped-Records"

Message = MutableMapping[str, Any]


def control(sessions: Sessions, plans: Mapping[str, Scenario]) -> Callable[..., Awaitable[None]]:
    """The application for the paths below /control; `plans` are the scenarios of which sessions can be opened, by id."""

    async def listed(_request: Request) -> Response:
        return JSONResponse({"sessions": [_told(one) for one in sessions]})

    async def opened(request: Request) -> Response:
        asked = wanted(await _json(request))
        return JSONResponse(_told(sessions.open(_plan(asked, plans), asked.token or secrets.token_hex(8))), 201)

    async def one(request: Request) -> Response:
        return JSONResponse(_told(_session(request)))

    async def journal(request: Request) -> Response:
        session = _session(request)
        headers = {DROPPED: str(session.recorder.dropped)}
        return Response(to_bytes(session.recording()), headers=headers, media_type="application/jsonl")

    async def failed(request: Request) -> Response:
        session = _session(request)
        session.interject(fault(await _json(request), session.plan))
        return JSONResponse(_told(session))

    async def reset(request: Request) -> Response:
        return JSONResponse(_told(await sessions.reset(request.path_params["token"])))

    async def closed(request: Request) -> Response:
        session = _session(request)
        await sessions.close(session.token)
        return JSONResponse(_told(session))

    def _session(request: Request) -> Standing:
        return sessions.of(request.path_params["token"])

    below = "/control/sessions"
    return Starlette(
        routes=[
            Route(below, listed, methods=["GET"]),
            Route(below, opened, methods=["POST"]),
            Route(f"{below}/{{token}}", one, methods=["GET"]),
            Route(f"{below}/{{token}}", closed, methods=["DELETE"]),
            Route(f"{below}/{{token}}/journal", journal, methods=["GET"]),
            Route(f"{below}/{{token}}/fault", failed, methods=["POST"]),
            Route(f"{below}/{{token}}/reset", reset, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _stray, **dict.fromkeys(STATUS, _refused)},
    )


def _told(session: Standing) -> dict[str, Any]:
    """A session as whoever drives the agent needs it: where it stands, and what the scenario's user says and allows."""
    plan = session.plan
    free = waits_for_anyone(plan)
    runs = [{"user": run.user, "limits": limits(run), "tool_choice": run.tool_choice} for run in plan.runs]
    return {
        "token": session.token,
        "scenario": None if free else plan.id,
        "persona": plan.model.persona.name if plan.model.persona else None,
        "base_urls": dict(session.base_urls),
        "tools_url": session.session.tools_url,
        "mcp_url": session.session.mcp_url,
        "system": plan.system,
        "runs": [] if free else runs,
        "records": {"taken": session.recorder.seen, "dropped": session.recorder.dropped},
    }


def _plan(asked: Wanted, plans: Mapping[str, Scenario]) -> Scenario:
    if asked.persona is not None:
        return persona_plan(asked.persona, at(datetime.now(UTC)))
    name = asked.scenario or ""
    if name not in plans:
        raise Unfit(f"scenario: there is no {name!r} here{guess(name, plans)}")
    return plans[name]


async def _json(request: Request) -> Any:
    body = await request.body()
    try:
        return read(body)
    except ValueError:
        raise Unfit(f"the body is no JSON: {body[:80].decode('utf-8', 'replace')!r}; expected an object") from None


def _refused(_request: Request, error: Exception) -> Response:
    return _error(STATUS[type(error)], str(error))


def _stray(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    asked = f"{request.method} {request.url.path}"
    known = "GET and POST /control/sessions; GET and DELETE /control/sessions/TOKEN; GET …/journal; POST …/fault and …/reset"
    return _error(status, f"came {asked}, expected one of: {known}", headers)


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"message": printable(message)}}, status, headers=headers)
