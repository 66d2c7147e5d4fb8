"""What every scenario uses: a client of the gateway, and facts for the test, one JSON object per line."""

import datetime
import json
import os
import sys
import typing

from roboto.exceptions import RobotoDomainException
from roboto.http import BearerTokenDecorator, RobotoClient

given: dict[str, typing.Any] = json.loads(os.environ["PERDURE_GIVEN"])


def client(token: str = os.environ["PERDURE_TOKEN"]) -> RobotoClient:
    return RobotoClient(
        endpoint=os.environ["PERDURE_URL"],
        auth_decorator=BearerTokenDecorator(token),
        http_client_kwargs={"default_timeout": 30.0},
    )


def say(said: str, **facts: typing.Any) -> None:
    print(json.dumps({"said": said, **facts}, default=_plain), flush=True)


def wait_for_line() -> str:
    return sys.stdin.readline().rstrip("\n")


def refused(call: typing.Callable[[], typing.Any]) -> dict[str, typing.Any]:
    """The SDK's own exception that a call raises; anything else ends the scenario."""
    try:
        result = call()
    except RobotoDomainException as error:
        return {"exception": type(error).__name__, "status": error.http_status_code, "message": error.message}
    raise AssertionError(f"was not refused, and gave {result!r}")


def _plain(value: typing.Any) -> typing.Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return value.model_dump(mode="json")
