/**
 * The conversation before a model call's new messages: from the worker's memory, else from the run's own history, and
 * where that cannot tell, by query from the workflow. Of a turn, the first part of it is its thread's, and is read there.
 *
 * C1  What is used always matches the digest that the workflow gave: a stale or foreign entry is a miss.
 * C2  Reading leaves no trace in history.
 */
import type { Context } from '@temporalio/activity';
import type { ContextInput } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { digestOf, digestOfAll, EMPTY_DIGEST } from '../contract/digest.js';
import { PerdureError } from '../contract/errors.js';
import type { BaseMessage } from '../contract/messages.js';
import { READ_CONTEXT } from '../contract/names.js';
import { readPages } from '../contract/pages.js';
import type { Page, PageRequest } from '../contract/pages.js';
import { contextFromHistory } from './history-context.js';
import { withRetries } from './query-retries.js';
import { createThreadPrefixes } from './thread-prefixes.js';
import type { ThreadPrefixes } from './thread-prefixes.js';
import { isSame } from './thread-record.js';
import type { Extent } from './thread-record.js';

export interface ModelContext {
  spec: AgentSpec;
  messages: BaseMessage[];
}

export interface ContextCache {
  /** The worker that resolves a run most likely makes its first model call: then no query is needed. */
  prime(runId: string, spec: AgentSpec): void;
  /** All messages of the call, the new ones included. */
  load(input: ContextInput, context: Context): Promise<ModelContext>;
  /** From here on the run's conversation is this. */
  replace(input: ContextInput, spec: AgentSpec, messages: BaseMessage[]): void;
  /** This worker has ended the turn of that run: it knows what the next one of the thread is to be given. */
  turnEnded: ThreadPrefixes['ended'];
}

interface Entry extends ModelContext {
  spec_digest: string;
  digest: string;
}

export function createContextCache(maxRuns: number): ContextCache {
  const entries = new Map<string, Entry>();
  const threads = createThreadPrefixes(maxRuns);
  const keep = (runId: string, entry: Entry) => {
    entries.delete(runId);
    if (maxRuns > 0) entries.set(runId, entry);
    if (entries.size > maxRuns) entries.delete(entries.keys().next().value as string);
  };
  return {
    prime(runId, spec) {
      keep(runId, { spec, spec_digest: digestOf(JSON.stringify(spec)), messages: [], digest: EMPTY_DIGEST });
    },
    turnEnded: threads.ended,
    async load(input, context) {
      const { run_id } = input.run;
      if (input.thread?.length === 0) threads.begin(input.thread.thread_id, run_id);
      const known = entries.get(run_id);
      const base = known !== undefined && matches(known, input) ? known : await fetchContext(known, input, context);
      const messages = [...base.messages, ...input.new_messages];
      const digest = digestOfAll(input.new_messages, input.prefix.digest);
      keep(run_id, { spec: base.spec, spec_digest: input.spec_digest, messages, digest });
      return { spec: base.spec, messages };
    },
    replace({ run, spec_digest }, spec, messages) {
      keep(run.run_id, { spec, spec_digest, messages, digest: digestOfAll(messages) });
    },
  };

  async function fetchContext(known: Entry | undefined, input: ContextInput, context: Context): Promise<ModelContext> {
    const { thread } = input;
    const ofThread = async () => (thread === undefined ? [] : threads.load(thread, input.run.run_id, context));
    const beginning = async (wanted: Extent) => {
      if (wanted.length === 0) return [];
      if (known !== undefined && isSame({ length: known.messages.length, digest: known.digest }, wanted))
        return known.messages;
      return thread !== undefined && isSame(thread, wanted) ? ofThread() : undefined;
    };
    const spec = known?.spec_digest === input.spec_digest ? known.spec : undefined;
    const found = await contextFromHistory(input, beginning, spec, context);
    if (found !== undefined) return found;
    const behind = input.compacted?.thread_messages ?? 0;
    return fetchRun(input, behind === thread?.length ? [] : (await ofThread()).slice(behind), context);
  }
}

function matches(entry: Entry, input: ContextInput): boolean {
  return (
    entry.spec_digest === input.spec_digest &&
    entry.messages.length === input.prefix.length &&
    entry.digest === input.prefix.digest
  );
}

async function fetchRun(input: ContextInput, before: BaseMessage[], context: Context): Promise<ModelContext> {
  const execution = context.info.workflowExecution;
  const handle = context.client.workflow.getHandle(input.run.run_id, execution?.runId);
  const read = (request: PageRequest) =>
    withRetries(context.client, 'the conversation', () => handle.query<Page, [PageRequest]>(READ_CONTEXT, request));
  let spec: AgentSpec | undefined;
  const own: BaseMessage[] = [];
  for await (const { index, text } of readPages(read, 0, input.prefix.length - before.length + 1)) {
    if (index === 0) {
      if (digestOf(text) !== input.spec_digest) throw mismatch(input, 'the pinned agent');
      spec = JSON.parse(text) as AgentSpec;
    } else own.push(JSON.parse(text) as BaseMessage);
  }
  // A summary, which is the run's, stands before what is left of the thread.
  const summary = input.compacted === undefined ? [] : own.splice(0, 1);
  const messages = [...summary, ...before, ...own];
  const digest = digestOfAll(messages);
  if (spec === undefined || messages.length !== input.prefix.length || digest !== input.prefix.digest) {
    throw mismatch(input, `its first ${input.prefix.length} messages`);
  }
  return { spec, messages };
}

function mismatch(input: ContextInput, what: string): PerdureError {
  return new PerdureError(
    'context_mismatch',
    `run ${input.run.run_id}, ${input.step_id}: ${what} as read by query differ from what the workflow sent`,
  );
}
