/** What is said to a thread, and done with it. */
import { PerdureError } from '../../../contract/errors.js';
import { profiledMessage } from '../../../contract/record-profiles.js';
import type { AgentMessage } from '../../../contract/thread-records.js';
import { data, dataOf } from '../../envelope.js';
import { checkMayAnswer } from '../../own-run.js';
import { mayWrite } from '../../own-thread.js';
import type { NamedThread } from '../../own-thread.js';
import { answererOf, chooseProfile, rolesOf } from '../../principal.js';
import type { Principal } from '../../principal.js';
import { beginThreadOnce, conflict, keyOf, markOf, readerOf } from '../../repeats.js';
import { defineThreadRoute } from '../../route.js';
import type { RouteTools } from '../../route.js';
import { Sent, shownRecord, ThreadRecord, Told } from '../../shapes/thread-answers.js';
import {
  ForkThread,
  RenameThread,
  SendToThread,
  sendRequestOf,
  SetPinned,
  SetVisibility,
  submitCommandOf,
  ThreadApproval,
  ToolUseResults,
} from '../../shapes/thread-requests.js';

const told = { 200: { description: 'The thread has done it.', schema: dataOf(Told) } };

export const sendMessage = defineThreadRoute({
  operation: 'sendMessage',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/messages',
  summary:
    'Says something. The same message, sent again before you have read it in the thread, is the same message. A thread that asks something takes it as the answer. One at work refuses it, or does as on_busy says.',
  access: 'threads:write',
  use: 'write',
  headers: { 'Idempotency-Key': 'The same key is the same message, however often it is sent.' },
  body: SendToThread,
  replies: { 200: { description: 'The thread has it.', schema: dataOf(Sent) } },
  errors: ['thread_busy', 'thread_full', 'idempotency_conflict', 'forbidden'],
  async handle({ tools, principal, request, body, thread: { thread_id } }) {
    const message = sendRequestOf(body);
    if (message === undefined) throw new PerdureError('invalid_request', 'message: give one, or goals, or both');
    const request_key = keyOf(principal, request);
    // Under another key the same words are another message.
    const mark = markOf(principal, `messages ${request_key ?? ''}`, message);
    const { digest, ...answer } = await tools.threads.send(thread_id, message, {
      mark,
      by: answererOf(principal),
      ...(request_key === undefined ? {} : { request_key }),
    });
    if (digest !== mark.digest) throw conflict(`a message of thread ${thread_id} was sent`);
    return data(answer);
  },
});

export const submitToolUseResults = defineThreadRoute({
  operation: 'submitToolUseResults',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/tool-results',
  summary: 'Gives a thread the results of tools that the caller runs. Sent again, they are taken once.',
  access: 'threads:write',
  use: 'write',
  body: ToolUseResults,
  replies: told,
  errors: ['run_ended', 'forbidden'],
  async handle({ tools, principal, body, thread }) {
    const { thread_id } = thread;
    const command = submitCommandOf(body);
    const { agent_id, pending } = await tools.threads.header(thread_id);
    const given = pending.filter((use) => command.tool_results.some((each) => each.tool_use_id === use.tool_use_id));
    const runIds = [...new Set(given.map((use) => use.run_id))];
    await checkMayAnswerIn(tools, principal, { thread, agent_id, runIds }, 'answers');
    // No tool use is ever answered twice, so the same results are always a repeat.
    const { by, digest } = markOf(principal, 'tool-results', command);
    const request_key = `${by}_${digest}`;
    await tools.threads.submitToolResults(thread_id, { ...command, ...answererOf(principal) }, { request_key });
    return data({ thread_id });
  },
});

export const decideThreadApproval = defineThreadRoute({
  operation: 'decideThreadApproval',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/approvals',
  summary:
    'Approves a call that the open turn wants to make, or denies it: `asks` of the text that asks has its ids. Sent again, it is taken once.',
  access: 'runs:approve',
  // Who may decide, the agent's policy says.
  use: 'read',
  body: ThreadApproval,
  replies: told,
  errors: ['run_ended', 'forbidden'],
  async handle({ tools, principal, body, thread }) {
    const { thread_id } = thread;
    const { agent_id, pauses } = await tools.threads.header(thread_id);
    const pause = pauses.find(({ asked }) => asked?.tool_use_id === body.tool_use_id);
    const runIds = pause === undefined ? [] : [pause.run_id];
    await checkMayAnswerIn(tools, principal, { thread, agent_id, runIds }, 'approvals');
    // No call is ever decided twice, so the same decision is always a repeat.
    const { by, digest } = markOf(principal, 'approvals', body);
    const command = { ...body, ...answererOf(principal) };
    await tools.threads.decideApproval(thread_id, command, { request_key: `${by}_${digest}` });
    return data({ thread_id });
  },
});

/** By the rules of the agents that ask, of the thread's own where nothing is open; the runs check once more. */
async function checkMayAnswerIn(
  { catalog, runs }: RouteTools,
  principal: Principal,
  { thread, agent_id, runIds }: { thread: NamedThread; agent_id: string; runIds: readonly string[] },
  kind: 'answers' | 'approvals',
): Promise<void> {
  const asking = runIds.length === 0 ? [{ agent_id }] : await Promise.all(runIds.map((id) => runs.describe(id)));
  const { org_id, created_by } = thread.owner;
  for (const run of asking) checkMayAnswer(catalog, principal, { ...run, org_id, created_by }, kind);
}

export const cancelTurn = defineThreadRoute({
  operation: 'cancelTurn',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/cancel',
  summary: 'Stops the turn that is going on, if there is one. What was said is kept, and the thread goes on.',
  access: 'threads:write',
  use: 'write',
  replies: told,
  handle: async ({ tools, thread: { thread_id } }) => data(await tools.threads.cancel(thread_id)),
});

export const forkThread = defineThreadRoute({
  operation: 'forkThread',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/fork',
  summary:
    'A new private thread of your own with the messages up to one, of somebody else’s as your profile shows them. It is begun once, as a start is.',
  access: 'threads:write',
  use: 'read',
  headers: { 'Idempotency-Key': 'The same key with the same body gives the same fork, however often it is sent.' },
  body: ForkThread,
  replies: { 200: { description: 'The new thread.', schema: dataOf(ThreadRecord) } },
  errors: ['thread_exists', 'idempotency_conflict'],
  async handle({ tools, principal, request, body, thread }) {
    const mark = markOf(principal, `fork of ${thread.thread_id}`, body);
    const profile = chooseProfile(tools.catalog, principal, undefined);
    // Whoever could ask the thread itself reads all of it by a model; others get what they may read.
    const shown = mayWrite(principal, thread)
      ? {}
      : { shown: (message: AgentMessage) => profiledMessage(profile, message) };
    const forker = principal.kind === 'local' ? {} : { created_by: principal.user_id, ...rolesOf(principal) };
    const { agent_id: agentId } = await tools.threads.header(thread.thread_id);
    const { record } = await beginThreadOnce({ tools, principal, request, agentId, mark }, (thread_id) =>
      tools.threads.fork(thread.thread_id, { ...body, ...forker, ...shown, thread_id, mark }),
    );
    return data(shownRecord(record, profile));
  },
});

export const setVisibility = defineThreadRoute({
  operation: 'setVisibility',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/visibility',
  summary: 'Says who may read the thread, which is so from its start: another value is refused.',
  access: 'threads:write',
  use: 'write',
  body: SetVisibility,
  replies: told,
  async handle({ tools, body, thread: { thread_id } }) {
    const { visibility } = (await tools.threads.header(thread_id)).record;
    if (body.visibility === visibility) return data({ thread_id });
    const message = `was set to "${visibility}" when thread ${thread_id} was made, and stays so`;
    throw new PerdureError('invalid_request', `visibility: it ${message}. Start a thread that has it from the start`, {
      issues: [{ path: 'visibility', message }],
    });
  },
});

export const pinThread = defineThreadRoute({
  operation: 'pinThread',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/pin',
  summary: 'A bookmark that only you see, in your list of threads.',
  access: 'threads:write',
  use: 'read',
  body: SetPinned,
  replies: told,
  async handle({ tools, principal, body: { pinned }, thread: { thread_id } }) {
    await tools.threads.pin(thread_id, { by: readerOf(principal), pinned });
    return data({ thread_id });
  },
});

export const renameThread = defineThreadRoute({
  operation: 'renameThread',
  method: 'PUT',
  path: '/v1/ai/threads/{thread_id}',
  summary: 'Gives the thread another title.',
  access: 'threads:write',
  use: 'write',
  body: RenameThread,
  replies: told,
  async handle({ tools, body, thread: { thread_id } }) {
    await tools.threads.rename(thread_id, body.title);
    return data({ thread_id });
  },
});

export const deleteThread = defineThreadRoute({
  operation: 'deleteThread',
  method: 'DELETE',
  path: '/v1/ai/threads/{thread_id}',
  summary: 'Ends the open turn and the thread, for good.',
  access: 'threads:write',
  use: 'write',
  replies: told,
  async handle({ tools, thread: { thread_id } }) {
    await tools.threads.delete(thread_id);
    await tools.records.feedback.forget(thread_id);
    await tools.records.archive.deleteBy({ thread_id });
    return data({ thread_id });
  },
});
