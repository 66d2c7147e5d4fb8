/**
 * The conversation of a run as its own history has it: each model call was given what was new, so the calls one after
 * another are the conversation. Reading it asks no worker, and reads back only as far as this worker does not know it.
 *
 * Undefined where the history cannot tell; whoever uses it need not compare the digest any more.
 */
import type { Context } from '@temporalio/activity';
import type { CompactResult, ContextInput, ResolvedRun } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { ownMessages, summaryMessage } from '../contract/compaction.js';
import type { Compacted } from '../contract/compaction.js';
import { digestOf, digestOfAll, EMPTY_DIGEST } from '../contract/digest.js';
import type { DurableEvent } from '../contract/events.js';
import type { BaseMessage } from '../contract/messages.js';
import { projectTranscript } from '../contract/transcript.js';
import { eventsBackwards } from '../live/history.js';
import type { HistoryEvent } from '../live/history.js';
import { historyPayloads } from './history-payloads.js';
import { isSame } from './thread-record.js';
import type { Extent } from './thread-record.js';

export interface HistoryContext {
  spec: AgentSpec;
  messages: BaseMessage[];
}

/** A beginning of the conversation that need not be read from the run, of exactly that extent. */
export type FindBeginning = (wanted: Extent) => Promise<readonly BaseMessage[] | undefined>;

/** How the conversation became what it is, from one call to a later one. */
interface Step {
  from: Extent;
  apply(before: readonly BaseMessage[]): readonly BaseMessage[];
}

/** These are given the conversation. */
const CALLS = ['callModel', 'callPlanner', 'compactContext'];

export async function contextFromHistory(
  input: ContextInput,
  beginning: FindBeginning,
  knownSpec: AgentSpec | undefined,
  { client, info }: Context,
): Promise<HistoryContext | undefined> {
  if (info.workflowExecution === undefined) return undefined;
  const read = historyPayloads(client);
  const steps: Step[] = [];
  const results = new Map<string, HistoryEvent>();
  let spec = knownSpec;
  let wanted: Extent = input.prefix;
  let begin = await beginning(wanted);
  const isKnown = () => begin !== undefined && spec !== undefined;

  for await (const event of isKnown() ? [] : eventsBackwards(client, info.workflowExecution)) {
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed != null) results.set(String(completed.scheduledEventId), event);
    const scheduled = event.activityTaskScheduledEventAttributes;
    const name = scheduled?.activityType?.name ?? '';
    const result = results.get(String(event.eventId))?.activityTaskCompletedEventAttributes?.result;
    const started = event.workflowExecutionStartedEventAttributes;
    let step: Step | undefined;
    if (begin === undefined && CALLS.includes(name)) {
      const given = await read<ContextInput>(scheduled?.input);
      if (given === undefined) return undefined;
      step = name === 'compactContext' ? summarized(given, await read<CompactResult>(result), wanted) : undefined;
      step ??= said(given, wanted);
    } else if (name === 'resolveRun') {
      spec ??= pinned((await read<ResolvedRun>(result))?.spec, input);
    } else if (started != null) {
      const carried = await read<Carried>(started.input, 1);
      spec ??= pinned(carried?.pinned.spec, input);
      if (begin === undefined && carried !== undefined) step = taken(carried, input, wanted);
    }
    if (step !== undefined) {
      steps.unshift(step);
      wanted = step.from;
      begin = await beginning(wanted);
    }
    if (isKnown()) break;
  }
  if (begin === undefined || spec === undefined) return undefined;
  const messages = steps.reduce((before, step) => step.apply(before), begin);
  const isWhole = isSame({ length: messages.length, digest: digestOfAll(messages) }, input.prefix);
  return isWhole ? { spec, messages: [...messages] } : undefined;
}

function pinned(spec: AgentSpec | undefined, { spec_digest }: ContextInput): AgentSpec | undefined {
  return spec !== undefined && digestOf(JSON.stringify(spec)) === spec_digest ? spec : undefined;
}

/** What the call was given, and was told before, is what is wanted. */
function said({ prefix, new_messages }: ContextInput, wanted: Extent): Step | undefined {
  if (new_messages.length === 0 || prefix.length + new_messages.length !== wanted.length) return undefined;
  if (digestOfAll(new_messages, prefix.digest) !== wanted.digest) return undefined;
  return { from: prefix, apply: (before) => [...before, ...new_messages] };
}

/** What is wanted is what the summary left of what it was made from. */
function summarized(given: ContextInput, result: CompactResult | undefined, wanted: Extent): Step | undefined {
  const { prefix, new_messages, thread } = given;
  const compacted = result?.compacted;
  if (compacted === undefined || !isSame(compacted.prefix, wanted)) return undefined;
  return {
    from: prefix,
    apply(before) {
      const whole = [...before, ...new_messages];
      const { summary, run_messages, prefix: left } = compacted;
      // Its own first message is read as it is, wherever the cut is: it stands after the summary before, or the thread.
      const { thread_messages: behind = 0 } = given.compacted ?? {};
      const first = (given.compacted === undefined ? 0 : 1) + (thread?.length ?? 0) - behind;
      const kept = left.length - 1;
      const rest = run_messages > 0 ? [...whole.slice(first, first + 1), ...tail(whole, kept - 1)] : tail(whole, kept);
      return [summaryMessage(summary), ...rest];
    },
  };
}

function tail<T>(items: readonly T[], count: number): readonly T[] {
  return items.slice(items.length - count);
}

/** What a run takes along when it continues as new, as far as it is of use here. */
interface Carried {
  events: DurableEvent[];
  pinned: { spec: AgentSpec };
  sent: Extent & { own?: number };
  compacted?: Compacted;
}

/** All that was said before is in the log that it took along; of a turn, after what its thread has. */
function taken({ events, sent }: Carried, { thread }: ContextInput, wanted: Extent): Step | undefined {
  if (!isSame(sent, wanted)) return undefined;
  const { length, digest } = thread ?? { length: 0, digest: EMPTY_DIGEST };
  const compaction = events.findLast((event) => event.type === 'context_compacted');
  const transcript = projectTranscript(events).slice(0, sent.own ?? sent.length - length);
  const own = ownMessages(transcript, compaction);
  const summary = compaction === undefined ? [] : own.slice(0, 1);
  return {
    from: { length, digest },
    apply: (before) => [...summary, ...before.slice(compaction?.thread_messages ?? 0), ...own.slice(summary.length)],
  };
}
