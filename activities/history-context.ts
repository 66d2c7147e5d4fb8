/**
 * The conversation of a run as its own history has it: each model call was given what was new, so the calls one after
 * another are the conversation. Reading it asks no worker, and reads back only as far as this worker does not know it.
 *
 * Undefined where the history cannot tell: what it holds left it for external storage, or went behind a summary since.
 */
import type { Context } from '@temporalio/activity';
import type { ContextInput, ResolvedRun } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { digestOf, extendDigest } from '../contract/digest.js';
import type { BaseMessage } from '../contract/messages.js';
import { eventsBackwards } from '../live/history.js';
import type { HistoryEvent } from '../live/history.js';

export interface KnownPart {
  messages: readonly BaseMessage[];
  digest: string;
}

export interface HistoryContext {
  spec: AgentSpec;
  messages: BaseMessage[];
}

/** These are given the conversation. */
const CALLS = ['callModel', 'callPlanner', 'compactContext'];

/** `known` are beginnings of the conversation that need not be read. */
export async function contextFromHistory(
  input: ContextInput,
  known: readonly KnownPart[],
  knownSpec: AgentSpec | undefined,
  context: Context,
): Promise<HistoryContext | undefined> {
  const { workflowExecution } = context.info;
  if (workflowExecution === undefined) return undefined;
  const later: BaseMessage[][] = [];
  let spec = knownSpec;
  let wanted = input.prefix;
  const results = new Map<string, HistoryEvent>();

  const found = () => {
    const base = known.find(({ messages, digest }) => messages.length === wanted.length && digest === wanted.digest);
    return base === undefined || spec === undefined
      ? undefined
      : { spec, messages: [...base.messages, ...later.flat()] };
  };

  for await (const event of eventsBackwards(context.client, workflowExecution)) {
    const whole = found();
    if (whole !== undefined) return whole;
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed != null) results.set(String(completed.scheduledEventId), event);
    const scheduled = event.activityTaskScheduledEventAttributes;
    const name = scheduled?.activityType?.name ?? '';
    if (CALLS.includes(name)) {
      const given = await decoded<ContextInput>(context, scheduled?.input?.payloads);
      if (given === undefined) return undefined;
      if (leadsTo(given, wanted)) {
        later.unshift(given.new_messages);
        wanted = given.prefix;
      }
    } else if (name === 'resolveRun') {
      const result = results.get(String(event.eventId))?.activityTaskCompletedEventAttributes?.result?.payloads;
      const resolved = await decoded<ResolvedRun>(context, result);
      if (resolved !== undefined && digestOf(JSON.stringify(resolved.spec)) === input.spec_digest) spec = resolved.spec;
    }
  }
  return found();
}

/** What the call was given, and was told before, is what is wanted. */
function leadsTo({ prefix, new_messages }: ContextInput, wanted: ContextInput['prefix']): boolean {
  if (new_messages.length === 0 || prefix.length + new_messages.length !== wanted.length) return false;
  return (
    new_messages.reduce((sum, message) => extendDigest(sum, JSON.stringify(message)), prefix.digest) === wanted.digest
  );
}

/** Undefined for what is not in the history itself. */
async function decoded<T>(context: Context, payloads: Payloads): Promise<T | undefined> {
  const { payloadConverter, payloadCodecs } = context.client.workflow.options.loadedDataConverter;
  try {
    let [payload] = payloads ?? [];
    for (const codec of [...payloadCodecs].reverse()) [payload] = await codec.decode(payload == null ? [] : [payload]);
    if (payload == null) return undefined;
    const value = payloadConverter.fromPayload<T>(payload);
    return typeof value === 'object' && value !== null && ('spec' in value || 'prefix' in value) ? value : undefined;
  } catch {
    // A reference to external storage is no JSON of ours: the workflow itself is asked.
    return undefined;
  }
}

type Scheduled = NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>;
type Payloads = NonNullable<Scheduled['input']>['payloads'];
