"""Polls a long answer, while the gateway is killed and another one is started."""

from roboto.ai.agent_thread import AgentTextDeltaEvent, AgentThread

from scenario import client, given, say, wait_for_line

thread = AgentThread.start(given["script"], roboto_client=client())
pieces: list[str] = []
for event in thread.events(tick=0.02):
    if isinstance(event, AgentTextDeltaEvent):
        pieces.append(event.text)
        if len(pieces) == 1:
            say("speaks", thread_id=thread.thread_id)
            wait_for_line()
say("ended", status=thread.status.value, text="".join(pieces), pieces=len(pieces))
