"""Conversations: live text, messages, tools of the client, goals, forks, cancel."""

import typing

from roboto.ai.agent_thread import (
    AgentErrorEvent,
    AgentMessage,
    AgentRole,
    AgentTextContent,
    AgentTextDeltaEvent,
    AgentThread,
    AgentThreadRecord,
    RobotoAgentGoalsFailedException,
    client_tool,
)
from roboto.ai.goals import DatasetSummaryAgentGoal

from scenario import client, given, say

mine = client()
scripts = given["scripts"]
looked: list[str] = []


@client_tool(description="Looks at something.")
def client_look(at: str) -> dict[str, typing.Any]:
    looked.append(at)
    return {"seen": f"a hill in {at}"}


def start(name: str, **more: typing.Any) -> AgentThread:
    return AgentThread.start(scripts[name], roboto_client=mine, **more)


def read(thread: AgentThread) -> AgentThreadRecord:
    path = f"v1/ai/threads/{thread.thread_id}"
    return mine.get(path, query={"load_messages": True}).to_record(AgentThreadRecord)


def told(messages: list[AgentMessage]) -> list[list[typing.Any]]:
    """Each message as the SDK holds it, with texts that follow one another joined. Of what it has sent itself the SDK
    keeps two copies: the one that it put there, and the one that it reads."""
    lines: list[list[typing.Any]] = []
    for message in messages:
        text = "".join(block.text for block in message.content if isinstance(block, AgentTextContent))
        others = [block.model_dump(mode="json") for block in message.content if not isinstance(block, AgentTextContent)]
        lines.append([message.role.value, message.status.value, "" if message.role == AgentRole.USER else text, others])
    return lines


def is_as_stored(thread: AgentThread) -> bool:
    return told(thread.messages) == told(read(thread).messages)


thread = start("talk", org_id=given["org"])
begun = thread.status.value
# The agent may have begun to speak before the start was answered.
spoken = [text for role, _status, text, _others in told(thread.messages) if role == "assistant"]
pieces = spoken + [event.text for event in thread.events(tick=0.02) if isinstance(event, AgentTextDeltaEvent)]
say("streamed", begun=begun, status=thread.status.value, pieces=pieces, as_stored=is_as_stored(thread))

for text in ["more", "more"]:
    thread.send_text(text)
    thread.run(timeout=60)
say("sent", told=told(thread.messages), as_stored=is_as_stored(thread), users=[
    message.content[0].text for message in read(thread).messages if message.role == AgentRole.USER
][1:])

again = AgentThread.from_id(thread.thread_id, roboto_client=mine, load_messages=False)
held = len(again.messages)
again.refresh()
say("loaded later", held=held, as_stored=is_as_stored(again))

fork = thread.fork(1)
say("forked", thread_id=fork.thread_id, source=thread.thread_id, told=told(fork.messages), visibility=read(fork).visibility)
fork.send_text("other")
fork.run(timeout=60)
say("fork answered", told=told(fork.messages), source=len(read(thread).messages))

tools = start("tools", client_tools=[client_look])
tools.run(timeout=60)
say("tools", looked=looked, told=told(tools.messages), as_stored=is_as_stored(tools), status=tools.status.value)

goal = DatasetSummaryAgentGoal(dataset_id="ds_1")
achieved = start("achieved", goals=[goal])
achieved.run(timeout=60)
# Older releases do not know which call achieved a goal, and so have nothing to show of it.
views = getattr(achieved, "goals", [])
results = [[view.result.summary, view.achieve_tool_result.raw_response] for view in views]
say("achieved", goals=read(achieved).goals, same=read(achieved).goals[0].goal_data, results=results)

failed = start("failed", goals=[goal])
try:
    failed.run(timeout=60)
    raise AssertionError("goals that failed were not raised")
except RobotoAgentGoalsFailedException as error:
    say("failed", thread_id=error.thread_id, own=failed.thread_id, goals=read(failed).goals, status=failed.status.value)
failed.send_text("never mind")
failed.run(timeout=60)
say("went on", status=failed.status.value, told=told(failed.messages)[-1])

def cancel(thread: AgentThread) -> None:
    mine.post(f"v1/ai/threads/{thread.thread_id}/cancel", data={})


stopped = start("stopped")
errors = []
# It may have said its one word before the start was answered, and says nothing more until it is stopped.
if any(role == "assistant" and text != "" for role, _status, text, _others in told(stopped.messages)):
    cancel(stopped)
for event in stopped.events(tick=0.02):
    if isinstance(event, AgentTextDeltaEvent):
        cancel(stopped)
    if isinstance(event, AgentErrorEvent):
        errors.append(event.error_code)
say("stopped", errors=errors, status=stopped.status.value, told=told(stopped.messages), as_stored=is_as_stored(stopped))
