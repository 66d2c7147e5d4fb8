/**
 * What a turn leaves in its thread, read from its run's log by query: the log itself may go with the retention, and
 * the thread's history holds each message once, however long the run was. Large outputs stay references.
 */
import type { Context } from '@temporalio/activity';
import type { CollectedTurn, CollectTurnInput } from '../contract/activities.js';
import type { DurableEvent, EventOf } from '../contract/events.js';
import type { BaseMessage } from '../contract/messages.js';
import { READ_LOG } from '../contract/names.js';
import { readPages } from '../contract/pages.js';
import type { PageRequest } from '../contract/pages.js';
import type { LogPage } from '../contract/queries.js';
import { beginTurnMessages, endTurn, foldTurn, projectTurn } from '../contract/thread-projection.js';
import { foldTranscript } from '../contract/transcript.js';

export async function collectTurn(client: Context['client'], input: CollectTurnInput): Promise<CollectedTurn> {
  const { thread_id, run_id, lost, at } = input;
  const events = await readLog(client, run_id);
  const turn = projectTurn(thread_id, events);
  // A run that was killed has no end in its log; one that was never there has none either.
  if (events.at(-1)?.type !== 'run_completed') endTurn(turn, lost, at);
  const goals = [...turn.goals].map(([goal_id, end]) => ({ goal_id, ...end }));
  const compacted = events.findLast((event) => event.type === 'context_compacted');
  return {
    messages: turn.messages,
    goals,
    ...(compacted === undefined ? {} : { compacted: behindSummary(thread_id, events, compacted) }),
  };
}

/** The log counts messages as the model reads them; the thread has them as its clients do. */
function behindSummary(
  threadId: string,
  events: readonly DurableEvent[],
  { summary, thread_messages, run_messages }: EventOf<'context_compacted'>,
): NonNullable<CollectedTurn['compacted']> {
  const turn = beginTurnMessages(threadId);
  const transcript: BaseMessage[] = [];
  for (const event of events) {
    foldTranscript(transcript, event);
    if (transcript.length > run_messages) break;
    foldTurn(turn, event);
  }
  const whole = turn.messages.filter((message) => message.status !== 'generating');
  return { summary, thread_messages, turn_messages: run_messages > 1 ? whole.length : 0 };
}

async function readLog(client: Context['client'], runId: string): Promise<DurableEvent[]> {
  const handle = client.workflow.getHandle(runId);
  // The run has ended: each page would cost a replay.
  const read = (request: PageRequest) => handle.query<LogPage, [PageRequest]>(READ_LOG, { ...request, whole: true });
  const events: DurableEvent[] = [];
  try {
    for await (const { text } of readPages(read, 0)) events.push(JSON.parse(text) as DurableEvent);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'WorkflowNotFoundError') throw error;
  }
  return events;
}
