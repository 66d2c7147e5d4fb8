/** Bare workflows: the same activities without Perdure around them. */
import { continueAsNew, executeChild, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { CallModelInput, RunActivities } from '../contract/activities.js';
import { digestOf, EMPTY_DIGEST, extendDigest } from '../contract/digest.js';
import type { BaseMessage } from '../contract/messages.js';

const options = { startToCloseTimeout: 60_000, heartbeatTimeout: 10_000, retry: { maximumAttempts: 4 } };
const { resolveRun, callModel, callTool } = proxyActivities<RunActivities>(options);
const { answerWhole } = proxyActivities<{ answerWhole(messages: BaseMessage[]): Promise<BaseMessage[]> }>(options);

/** The activities of an agent's run, in the same order and with the same inputs; nothing else. */
export async function bareRun(runId: string, request: { agent_id: string; input: string }): Promise<string> {
  const run = { run_id: runId, agent_id: request.agent_id, root_run_id: runId };
  const { spec } = await resolveRun({ run_id: runId, request });
  const spec_digest = digestOf(JSON.stringify(spec));
  let sent: CallModelInput['prefix'] = { length: 0, digest: EMPTY_DIGEST };
  let fresh: BaseMessage[] = [{ role: 'user', content: request.input }];
  for (let step = 1; ; step++) {
    const step_id = `step_${step}`;
    const result = await callModel({
      run,
      step_id,
      pass: 'planning',
      prefix: sent,
      new_messages: fresh,
      spec_digest,
      signal_live: false,
    });
    sent = {
      length: sent.length + fresh.length,
      digest: fresh.reduce((digest, message) => extendDigest(digest, JSON.stringify(message)), sent.digest),
    };
    const said = result.completion.messages.at(-1);
    if (said?.role !== 'assistant' || said.tool_calls === undefined) return JSON.stringify(said?.content);
    const calls = said.tool_calls.map((call, n) => ({ ...call, id: `call_${step}_${n + 1}` }));
    const results = await Promise.all(
      calls.map(async (call): Promise<BaseMessage> => {
        const { name } = call.function;
        const { content } = await callTool({
          run,
          step_id,
          tool_call_id: call.id,
          tool_id: name,
          arguments: call.function.arguments,
          signal_live: false,
        });
        return { role: 'tool', tool_call_id: call.id, tool_name: name, content };
      }),
    );
    fresh = [{ ...said, tool_calls: calls }, ...results];
  }
}

/** The usual way: the whole conversation in the input of every model call. */
export async function wholeConversation(calls: number): Promise<number> {
  const messages: BaseMessage[] = [{ role: 'user', content: `answer ${calls} times` }];
  for (let n = 0; n < calls; n++) messages.push(...(await answerWhole(messages)));
  return messages.length;
}

/** A conversation of so many turns, each a child that is given all that was said. */
export async function wholeThread(
  turns: number,
  question: string,
  said: BaseMessage[] = [],
  done = 0,
): Promise<number> {
  const messages = [...said];
  for (let n = done + 1; n <= turns; n++) {
    messages.push({ role: 'user', content: question });
    const workflowId = `${workflowInfo().workflowId}/turn_${n}`;
    messages.push(...(await executeChild(wholeTurn, { workflowId, args: [messages] })));
    if (workflowInfo().continueAsNewSuggested && n < turns)
      await continueAsNew<typeof wholeThread>(turns, question, messages, n);
  }
  return messages.length;
}

export async function wholeTurn(messages: BaseMessage[]): Promise<BaseMessage[]> {
  return answerWhole(messages);
}

/** One bare run that starts bare children side by side, each with the same activities as a child agent's run. */
export async function bareTree(
  runId: string,
  agents: { root: string; leaf: string },
  children: number,
): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: children }, (_, n) =>
      executeChild(bareRun, {
        workflowId: `${runId}/${n}`,
        args: [`${runId}/${n}`, { agent_id: agents.leaf, input: `part ${n}` }],
      }),
    ),
  );
  await bareRun(`${runId}`, { agent_id: agents.root, input: answers.join(' ') });
  return answers.length;
}
