"""What a gateway refuses, as the SDK's own exceptions."""

import importlib.metadata

from roboto.ai.agent_thread import AgentThread, ThreadVisibility

from scenario import client, given, refused, say

mine = client()
scripts = given["scripts"]


def as_bob(thread_id: str) -> AgentThread:
    return AgentThread.from_id(thread_id, roboto_client=client(given["colleague"]))


busy = AgentThread.start(scripts["stopped"], roboto_client=mine)
shared = given["shared"]
say(
    "refused",
    token=refused(lambda: AgentThread.from_id(busy.thread_id, roboto_client=client("nobody"))),
    unknown=refused(lambda: AgentThread.from_id("thr_none", roboto_client=mine)),
    foreign=refused(lambda: AgentThread.from_id(busy.thread_id, roboto_client=client(given["stranger"]))),
    private=refused(lambda: as_bob(busy.thread_id)),
    range=refused(lambda: AgentThread.from_id(shared, roboto_client=mine).fork(99)),
    profile=refused(lambda: AgentThread.start("x", model_profile="none", roboto_client=mine)),
    busy=refused(lambda: busy.send_text("now?")),
    read_only=refused(lambda: as_bob(shared).send_text("mine")),
)
say("fork of the shared one", created_by_me=as_bob(shared).fork(0).thread_id != shared)
if importlib.metadata.version("roboto") != "0.47.0":
    own = AgentThread.from_id(shared, roboto_client=mine)
    own.set_visibility(ThreadVisibility.ORG)
    own.set_pinned(True)
    own.set_pinned(False)
    own.set_pinned(True)
    say("newer calls", visibility=refused(lambda: own.set_visibility(ThreadVisibility.PRIVATE)))
mine.post(f"v1/ai/threads/{busy.thread_id}/cancel", data={})
