"""Turns that ask: the question is a text, the next message its answer; a call that wants leave gets it by a decision."""

import typing

from roboto.ai.agent_thread import AgentTextDeltaEvent, AgentThread, AgentThreadRecord

from scenario import client, given, refused, say

mine = client()
scripts = given["scripts"]


def start(name: str, **more: typing.Any) -> AgentThread:
    return AgentThread.start(scripts[name], roboto_client=mine, **more)


def read(thread: AgentThread) -> AgentThreadRecord:
    path = f"v1/ai/threads/{thread.thread_id}"
    return mine.get(path, query={"load_messages": True}).to_record(AgentThreadRecord)


def raw(thread: AgentThread) -> dict[str, typing.Any]:
    """With the fields that the SDK does not know."""
    return mine.get(f"v1/ai/threads/{thread.thread_id}").to_dict(json_path=["data"])


def texts(record: AgentThreadRecord) -> list[list[str]]:
    return [
        [message.role.value, message.status.value, "".join(getattr(block, "text", "") for block in message.content)]
        for message in record.messages
    ][1:]


for name in ["asks", "child asks"]:
    asking = start(name)
    spoken = [block.text for message in asking.messages[1:] for block in message.content if hasattr(block, "text")]
    pieces = spoken + [event.text for event in asking.events(tick=0.05) if isinstance(event, AgentTextDeltaEvent)]
    question = asking.latest_message.content[0].text
    status = asking.status.value
    asking.send_text("Geneva")
    asking.run(timeout=60)
    reply = asking.latest_message.content[0].text
    say(
        name,
        pieces=pieces,
        question=question,
        asked=status,
        reply=reply,
        status=asking.status.value,
        told=texts(read(asking)),
        held=len(asking.messages),
    )

wanting = start("wants leave")
wanting.run(timeout=60)
asks = raw(wanting)["messages"][-1]["content"][0]["asks"]
words = refused(lambda: wanting.send_text("yes"))
decision = {"tool_use_id": asks["tool_use_id"], "digest": asks["digest"], "decision": "approve"}
path = f"v1/ai/threads/{wanting.thread_id}/approvals"
wrong = refused(lambda: mine.post(path, data={**decision, "digest": "another"}))
asked = wanting.latest_message.content[0].text
mine.post(path, data=decision)
wanting.run(timeout=60)
say(
    "wants leave",
    asked=asked,
    words=words,
    wrong=wrong,
    reply=wanting.latest_message.content[0].text,
    told=texts(read(wanting)),
)

listed = mine.get("v1/ai/threads").to_paginated_list(AgentThreadRecord).items
found = mine.post("v1/ai/threads/search", data={"title": given["title"]}).to_paginated_list(AgentThreadRecord)
say("listed", listed=len(listed) > 0, profile=read(wanting).model_profile, found=len(found.items))
