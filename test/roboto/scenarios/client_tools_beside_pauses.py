"""Client tools in one batch with a question or an approval, and one that wants leave itself: the SDK runs each of them
once, and finds what is asked when it is the user's turn."""

import typing

from roboto.ai.agent_thread import (
    AgentMessage,
    AgentRole,
    AgentTextContent,
    AgentThread,
    AgentThreadRecord,
    AgentToolResultContent,
    AgentToolResultEvent,
    client_tool,
)

from scenario import client, given, say

mine = client()
ran: list[str] = []


@client_tool(description="Looks at something.")
def client_look(at: str) -> dict[str, typing.Any]:
    ran.append(f"look {at}")
    return {"seen": at}


@client_tool(description="Signs a paper.")
def client_sign(paper: str) -> str:
    ran.append(f"sign {paper}")
    return "signed"


def raw(thread: AgentThread) -> list[dict[str, typing.Any]]:
    """With the fields that the SDK does not know."""
    return mine.get(f"v1/ai/threads/{thread.thread_id}").to_dict(json_path=["data"])["messages"]


def asked(thread: AgentThread) -> list[dict[str, typing.Any]]:
    return [block["asks"] for message in raw(thread) for block in message["content"] if "asks" in block]


def approve(thread: AgentThread) -> None:
    ids = [asks for asks in asked(thread) if asks["kind"] == "approval"][-1]
    decision = {"tool_use_id": ids["tool_use_id"], "digest": ids["digest"], "decision": "approve"}
    mine.post(f"v1/ai/threads/{thread.thread_id}/approvals", data=decision)


def words(message: AgentMessage) -> str:
    return "".join(block.text for block in message.content if isinstance(block, AgentTextContent))


def shape(messages: list[AgentMessage]) -> list[list[typing.Any]]:
    """Of what it has sent itself the SDK keeps two copies, so the user's messages are left out."""
    return [
        [message.role.value, words(message), [block.tool_use_id for block in message.content if hasattr(block, "tool_use_id")]]
        for message in messages
        if message.role != AgentRole.USER
    ]


for name, case in given["cases"].items():
    ran.clear()
    outputs: list[typing.Any] = []
    seen: list[dict[str, typing.Any]] = []

    def note(event: typing.Any) -> None:
        if isinstance(event, AgentToolResultEvent):
            outputs.append([event.name, event.success, event.output])

    thread = AgentThread.start(case["script"], roboto_client=mine, client_tools=[client_look, client_sign])
    for step in [*case["steps"], None]:
        thread.run(timeout=60, on_event=note)
        kinds = [asks["kind"] for asks in asked(thread)]
        seen.append({"status": thread.status.value, "words": words(thread.latest_message), "ran": list(ran), "asked": kinds})
        if step == "approve":
            approve(thread)
        elif step is not None:
            thread.send_text(step)
    stored = mine.get(f"v1/ai/threads/{thread.thread_id}", query={"load_messages": True}).to_record(AgentThreadRecord)
    results = [
        [block.tool_name, block.raw_response]
        for message in stored.messages
        for block in message.content
        if isinstance(block, AgentToolResultContent)
    ]
    as_stored = shape(thread.messages) == shape(stored.messages)
    say(name, seen=seen, outputs=outputs, results=results, as_stored=as_stored)
