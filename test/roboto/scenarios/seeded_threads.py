"""Threads that begin with a conversation of elsewhere, calls of tools and all; messages of several blocks; and tools that
are declared with one message after another."""

import typing

from roboto.ai.agent_thread import (
    AgentMessage,
    AgentRole,
    AgentTextContent,
    AgentThread,
    AgentThreadRecord,
    AgentToolResultContent,
    AgentToolUseContent,
    client_tool,
)

from scenario import client, given, say

mine = client()
scripts = given["scripts"]


@client_tool(description="Looks at something.")
def client_look(at: str) -> dict[str, typing.Any]:
    return {"seen": at}


@client_tool(description="Signs a paper.")
def client_sign(paper: str) -> str:
    return "signed"


def read(thread: AgentThread) -> AgentThreadRecord:
    return mine.get(f"v1/ai/threads/{thread.thread_id}", query={"load_messages": True}).to_record(AgentThreadRecord)


def kinds(message: AgentMessage) -> list[str]:
    return [type(block).__name__ for block in message.content]


def text(*texts: str, role: AgentRole = AgentRole.USER) -> AgentMessage:
    return AgentMessage(role=role, content=[AgentTextContent(text=each) for each in texts])


call = AgentToolUseContent(tool_name="client_look", tool_use_id="toolu_1", input={"at": "Glarus"})
result = AgentToolResultContent(
    tool_name="client_look", tool_use_id="toolu_1", runtime_ms=3, status="success", raw_response={"seen": "a hill"}
)
seeds = [
    text(scripts["seeded"]),
    text("Where?", "And when?"),
    AgentMessage(role=AgentRole.ASSISTANT, content=[AgentTextContent(text="Let me see."), call]),
    AgentMessage(role=AgentRole.USER, content=[result, AgentTextContent(text="Go on."), AgentTextContent(text="Now.")]),
]
seeded = AgentThread.start(seeds, roboto_client=mine)
seeded.run(timeout=60)
stored = read(seeded)
say("seeded", thread_id=seeded.thread_id, kinds=[kinds(message) for message in stored.messages], use=stored.messages[2].content[1])

# What was read of one thread begins another.
said = [message for message in stored.messages if message.role != AgentRole.ROBOTO]
again = AgentThread.start([*said, text("again")], roboto_client=mine)
again.run(timeout=60)
say("again", kinds=[kinds(message) for message in read(again).messages])

declaring = AgentThread.start(scripts["declares"], roboto_client=mine, client_tools=[client_look])
declaring.run(timeout=60)
declaring.send_text("more", client_tools=[client_sign])
declaring.run(timeout=60)
declaring.send_text("most")
declaring.run(timeout=60)
results = [block for message in read(declaring).messages for block in message.content if isinstance(block, AgentToolResultContent)]
say("declared", thread_id=declaring.thread_id, results=[[block.tool_name, block.raw_response] for block in results])
