"""The answer to every first POST is lost on its way; the SDK sends it again by itself."""

from roboto.ai.agent_thread import AgentThread, client_tool

from scenario import client, given, say

mine = client()
looked: list[str] = []


@client_tool(description="Looks at something.")
def client_look(at: str) -> str:
    looked.append(at)
    return at


thread = AgentThread.start(given["script"], client_tools=[client_look], roboto_client=mine)
thread.run(timeout=90)
for _ in range(2):
    thread.send_text("more")
    thread.run(timeout=90)
fork = thread.fork(0)
say("done", thread_id=thread.thread_id, fork=fork.thread_id, looked=looked, status=thread.status.value)
