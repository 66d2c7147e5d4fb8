/**
 * The record of a thread, as far as models read it: how it grows by a turn, and how it is found in the thread's own
 * history, which asks no worker and holds nothing but what is committed.
 *
 * R1  It is folded by the same functions as in the thread itself. Whoever uses it compares the digest.
 * R2  The history cannot tell where a turn left something that is not in it in this form: the log of a run could not be
 *     read, or an answer was never heard by a run that was stopped.
 */
import type { Context } from '@temporalio/activity';
import type { CollectedTurn, OpenedThread } from '../contract/activities.js';
import type { ThreadCompaction } from '../contract/compaction.js';
import { RUN_WORKFLOW } from '../contract/names.js';
import type { RunRequest } from '../contract/run.js';
import { betweenTexts, closeOpenCalls, compactionOf, contextOf, foldResults } from '../contract/thread-context.js';
import type { ThreadContext } from '../contract/thread-context.js';
import type { AgentContent, AgentMessage } from '../contract/thread-records.js';
import { eventsBackwards } from '../live/history.js';
import type { HistoryEvent } from '../live/history.js';
import { historyPayloads } from './history-payloads.js';
import type { ReadPayload } from './history-payloads.js';

export interface ThreadRecord {
  /** What stands between the texts of one message, as models of this thread read them. */
  between: string;
  messages: readonly AgentMessage[];
  /** The message that begins the next turn, where it is known as it was said: it may bring results along. */
  asking?: readonly AgentContent[] | undefined;
  compaction?: ThreadCompaction | undefined;
}

/** Of a conversation: how many messages, and their digest. */
export interface Extent {
  length: number;
  digest: string;
}

/** What was asked, and what its run left in the thread. */
export interface EndedTurn {
  input: string;
  collected: CollectedTurn;
}

/** What models read of it in the turn that begins next. */
export function contextBefore({ between, messages, asking = [], compaction }: ThreadRecord): ThreadContext {
  const context = contextOf(messages, compaction, between);
  foldResults(context, asking, messages.length);
  closeOpenCalls(context, messages.length);
  return context;
}

export function afterTurn(record: ThreadRecord, { input, collected }: EndedTurn): ThreadRecord {
  const { between, asking = textContent(input) } = record;
  const asked = record.messages.length;
  const { length } = contextBefore(record).messages;
  const messages = [...record.messages, spoken('user', asking), ...collected.messages];
  const { compacted } = collected;
  if (compacted === undefined) return { between, messages, compaction: record.compaction };
  const compaction = compactionOf(contextOf(messages, record.compaction, between), { length, asked }, compacted);
  const { from, also } = compaction;
  // What is behind the summary is not read again: only its place counts.
  return { between, messages: messages.map((each, n) => (n >= from || n === also ? each : UNREAD)), compaction };
}

const UNREAD = spoken('user', textContent(''));

function textContent(text: string): AgentContent[] {
  return [{ content_type: 'text', text }];
}

function spoken(role: AgentMessage['role'], content: readonly AgentContent[]): AgentMessage {
  return { role, content: [...content], status: 'completed', created: '' };
}

/** As it was before the turn that was given `wanted`, on top of what is known of before an earlier turn. */
export async function recordFromHistory(
  threadId: string,
  wanted: Extent,
  known: (ThreadRecord & Extent) | undefined,
  client: Context['client'],
): Promise<ThreadRecord | undefined> {
  const read = historyPayloads(client);
  const results = new Map<string, HistoryEvent>();
  const collected = new Map<string, CollectedTurn>();
  const turns: EndedTurn[] = [];
  let isFound = false;
  const since = (base: ThreadRecord | undefined) =>
    base === undefined || !isFound ? undefined : turns.reduceRight(afterTurn, base);

  // Its latest execution: a thread does not continue as new during a turn.
  for await (const event of eventsBackwards(client, { workflowId: threadId, runId: '' })) {
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed != null) results.set(String(completed.scheduledEventId), event);
    const scheduled = event.activityTaskScheduledEventAttributes;
    const name = scheduled?.activityType?.name;
    const result = results.get(String(event.eventId))?.activityTaskCompletedEventAttributes?.result;
    const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
    if (name === 'collectTurn') {
      const [asked, left] = [await read<{ run_id: string }>(scheduled?.input), await read<CollectedTurn>(result)];
      if (asked !== undefined && left !== undefined) collected.set(asked.run_id, left);
    } else if (name === 'openThread') {
      return since(beginning(await read<OpenedThread>(result)));
    } else if (child?.workflowType?.name === RUN_WORKFLOW) {
      const request = await read<RunRequest>(child.input);
      if (isFound) {
        const left = collected.get(child.workflowId ?? '');
        if (left === undefined || typeof request?.input !== 'string') return undefined;
        turns.push({ input: request.input, collected: left });
      }
      if (request?.thread !== undefined && isSame(request.thread, wanted)) isFound = true;
      if (known !== undefined && request?.thread !== undefined && isSame(request.thread, known)) return since(known);
    } else if (event.workflowExecutionStartedEventAttributes != null) {
      return since(await carried(read, event));
    }
  }
  return undefined;
}

export function isSame(one: Extent, other: Extent): boolean {
  return one.length === other.length && one.digest === other.digest;
}

/** The last message of the request begins the first turn. */
function beginning(opened: OpenedThread | undefined): ThreadRecord | undefined {
  if (opened === undefined) return undefined;
  const { messages, forked_from } = opened.request;
  const said = messages.slice(0, -1).map(({ role, content }) => spoken(role, content));
  return {
    between: betweenTexts(opened.revision),
    messages: [...(forked_from?.messages ?? []), ...said],
    asking: messages.at(-1)?.content,
    compaction: forked_from?.compaction,
  };
}

/** What a thread takes along when it continues as new: a turn may have begun by then, with its message in the record. */
async function carried(read: ReadPayload, { workflowExecutionStartedEventAttributes }: HistoryEvent) {
  const state = await read<{
    opened: OpenedThread;
    messages: AgentMessage[];
    compaction?: ThreadCompaction;
    turn?: { message_sequence_num: number };
  }>(workflowExecutionStartedEventAttributes?.input, 1);
  if (state === undefined) return undefined;
  const { opened, messages, compaction, turn } = state;
  const asked = turn?.message_sequence_num ?? messages.length;
  return {
    between: betweenTexts(opened.revision),
    messages: messages.slice(0, asked),
    asking: messages[asked]?.content,
    compaction,
  };
}
