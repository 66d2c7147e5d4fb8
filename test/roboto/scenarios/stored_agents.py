"""Stored agents: created, found, listed, changed, launched, deleted; and feedback on what they say."""

import importlib.metadata

from roboto.ai.agent import Agent, TemplateVariable, TemplateVariableType
from roboto.ai.agent_thread import AgentMessage, StartAgentThreadRequest, ThreadVisibility
from roboto.ai.agent_thread.feedback import FeedbackCategory, FeedbackSentiment
from roboto.ai.core import AnalysisScope
from roboto.ai.goals import DatasetSummaryAgentGoal

from scenario import client, given, refused, say

org = given["org"]
mine = client()
colleague = client(given["colleague"])
stranger = client(given["stranger"])

template = StartAgentThreadRequest(
    messages=[AgentMessage.text(given["script"])],
    system_prompt="Be {{manner}}.",
    goals=[DatasetSummaryAgentGoal(dataset_id="{{dataset.id}}")],
)
variables = [
    TemplateVariable(name="who", description="Whom to greet."),
    TemplateVariable(name="dataset.id", type=TemplateVariableType.DATASET_ID),
    TemplateVariable(name="manner", required=False, default="brief"),
]
agent = Agent.create(
    name=given["name"],
    description="Greets.",
    request_template=template,
    variables=variables,
    caller_org_id=org,
    roboto_client=mine,
)
say("created", record=agent.record)
again = Agent.create(
    name=given["name"],
    description="Greets.",
    request_template=template,
    variables=variables,
    caller_org_id=org,
    roboto_client=mine,
)
say("created again", agent_id=again.agent_id)



def is_same(found: Agent) -> bool:
    # A message of a template has no time of its own, and the SDK makes one up.
    invented = {"request_template": {"messages": {"__all__": {"created"}}}}
    return found.record.model_dump(exclude=invented) == agent.record.model_dump(exclude=invented)


say("by id", same=is_same(Agent.from_id(agent.agent_id, roboto_client=colleague)))
say("by name", same=is_same(Agent.from_name(agent.name, roboto_client=colleague, owner_org_id=org)))
say("by name, without an org", same=is_same(Agent.from_name(agent.name, roboto_client=mine)))
listed = list(Agent.for_org(org_id=org, roboto_client=colleague))
say("listed", count=len(listed), first=listed[0].agent_id, distinct=len({each.agent_id for each in listed}))

say(
    "refused",
    conflict=refused(lambda: Agent.create(name=agent.name, request_template=template, variables=variables, roboto_client=colleague)),
    mismatch=refused(lambda: Agent.create(name="x", request_template=template, variables=variables[:1], roboto_client=mine)),
    foreign_org=refused(lambda: Agent.create(name="x", request_template=template, variables=variables, caller_org_id="other", roboto_client=mine)),
    foreign_id=refused(lambda: Agent.from_id(agent.agent_id, roboto_client=stranger)),
    foreign_name=refused(lambda: Agent.from_name(agent.name, roboto_client=stranger, owner_org_id=org)),
    foreign_launch=refused(lambda: Agent(agent.record, stranger).launch({"who": "x", "dataset.id": "x"})),
    unknown=refused(lambda: Agent.from_name("nobody", roboto_client=mine)),
    token=refused(lambda: Agent.from_id(agent.agent_id, roboto_client=client("nonsense"))),
    missing=refused(lambda: agent.launch({"who": "Ada"})),
    superfluous=refused(lambda: agent.launch({"who": "Ada", "dataset.id": "ds_1", "colour": "red"})),
)

thread = agent.launch(values={"who": "Ada", "dataset.id": "ds_1"})
say("launched", thread_id=thread.thread_id)
thread.run(timeout=60)
say("answered", text=[str(message) for message in thread.messages], status=str(thread.status))
private = agent.launch(values={"who": "Bea", "dataset.id": "ds_2"}, visibility=ThreadVisibility.PRIVATE)
private.run(timeout=60)
say("launched in private", thread_id=private.thread_id)
if importlib.metadata.version("roboto") != "0.47.0":
    scoped = agent.launch(values={"who": "Cy", "dataset.id": "ds_3"}, analysis_scope=AnalysisScope(start_time=1, end_time=2))
    scoped.run(timeout=60)
    say("launched with a scope", thread_id=scoped.thread_id)

last = len(thread.messages) - 1
first = thread.submit_feedback(last, FeedbackSentiment.POSITIVE, [FeedbackCategory.HELPFUL])
second = thread.submit_feedback(last, FeedbackSentiment.NEGATIVE, [FeedbackCategory.OTHER], notes="Too short.")
say("feedback", first=first, second=second, last=last)
say(
    "feedback refused",
    out_of_range=refused(lambda: thread.submit_feedback(99, FeedbackSentiment.POSITIVE)),
    of_a_user=refused(lambda: thread.submit_feedback(0, FeedbackSentiment.POSITIVE)),
)

agent.update(description=None)
say("description cleared", record=agent.record)
agent.update(name=given["name"] + " renamed", request_template=agent.request_template, variables=agent.variables)
say("renamed", record=agent.record)
say("update refused", mismatch=refused(lambda: agent.update(variables=[])))
Agent.from_id(agent.agent_id, roboto_client=colleague).delete()
say(
    "deleted",
    read=refused(lambda: Agent.from_id(agent.agent_id, roboto_client=mine)),
    update=refused(lambda: agent.update(name="y")),
    launch=refused(lambda: agent.launch({"who": "x", "dataset.id": "x"})),
    delete=refused(agent.delete),
)
