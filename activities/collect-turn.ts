/**
 * What a turn leaves in its thread, read from its run's log: the log itself may go with the retention, and the thread's
 * history holds each message once, however long the run was. Large outputs stay references.
 *
 * The log comes from this worker, where it heard all of it, else by query. A query that comes just when a run has ended
 * is often lost: docs/queries.md.
 */
import type { Context } from '@temporalio/activity';
import type { CollectedTurn, CollectTurnInput } from '../contract/activities.js';
import type { DurableEvent, EventOf } from '../contract/events.js';
import type { BaseMessage } from '../contract/messages.js';
import { READ_LOG } from '../contract/names.js';
import { readPages } from '../contract/pages.js';
import type { Page, PageRequest } from '../contract/pages.js';
import { endTurn, foldTurn, projectTurn } from '../contract/thread-projection.js';
import { foldTranscript } from '../contract/transcript.js';
import { beginTurnMessages } from '../contract/turn-messages.js';
import { withRetries } from './query-retries.js';
import type { ThreadPrefixes } from './thread-prefixes.js';

/** The texts of a log that has ended, where this worker heard and knows all of it. */
export type HeardLog = (runId: string) => Promise<string[] | undefined>;

export async function collectTurn(
  heardLog: HeardLog,
  client: Context['client'],
  turnEnded: ThreadPrefixes['ended'],
  input: CollectTurnInput,
): Promise<CollectedTurn> {
  const { thread_id, run_id, lost, at } = input;
  const texts = (await heardLog(run_id)) ?? (await readLog(client, run_id));
  const events = texts.map((text) => JSON.parse(text) as DurableEvent);
  const turn = projectTurn(thread_id, events);
  // A run that was killed has no end in its log; one that was never there has none either.
  if (events.at(-1)?.type !== 'run_completed') endTurn(turn, lost, at);
  const goals = [...turn.goals].map(([goal_id, end]) => ({ goal_id, ...end }));
  const compacted = events.findLast((event) => event.type === 'context_compacted');
  const collected = {
    messages: turn.messages,
    goals,
    ...(compacted === undefined ? {} : { compacted: behindSummary(thread_id, events, compacted) }),
  };
  const [started] = events;
  if (started?.type === 'run_started' && typeof started.input === 'string')
    turnEnded(thread_id, run_id, { input: started.input, collected });
  return collected;
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

const NOTHING: Page = { slices: [], tail: 0 };

async function readLog(client: Context['client'], runId: string): Promise<string[]> {
  const handle = client.workflow.getHandle(runId);
  const read = (request: PageRequest) =>
    withRetries(client, `the log of ${runId}`, () =>
      // The run has ended: each page would cost a replay.
      handle.query<Page, [PageRequest]>(READ_LOG, { ...request, whole: true }).catch((error: unknown) => {
        if (!(error instanceof Error) || error.name !== 'WorkflowNotFoundError') throw error;
        return NOTHING;
      }),
    );
  const texts: string[] = [];
  for await (const { text } of readPages(read, 0)) texts.push(text);
  return texts;
}
