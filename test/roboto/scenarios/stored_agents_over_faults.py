"""Every first POST is lost on its way back; the SDK sends it again by itself."""

from roboto.ai.agent import Agent, TemplateVariable
from roboto.ai.agent_thread import AgentMessage, StartAgentThreadRequest
from roboto.ai.agent_thread.feedback import FeedbackSentiment

from scenario import client, given, say

mine = client()
agent = Agent.create(
    name=given["name"],
    request_template=StartAgentThreadRequest(messages=[AgentMessage.text(given["script"])]),
    variables=[TemplateVariable(name="who")],
    roboto_client=mine,
)
say("created", agent_id=agent.agent_id, count=len([each for each in Agent.for_org(roboto_client=mine)]))
thread = agent.launch(values={"who": "Ada"})
thread.run(timeout=60)
say("launched", thread_id=thread.thread_id)
record = thread.submit_feedback(1, FeedbackSentiment.POSITIVE)
say("feedback", record=record)
