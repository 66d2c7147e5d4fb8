/**
 * A server's schemas, which are not ours: bounded here, and evaluated in threads of their own, one for each org that
 * waits. With the validator that the SDK brings along: no further dependency.
 */
import type { JSONSchema7 } from '../../contract/completion.js';
import { schemaProblem } from '../../contract/schema-bounds.js';
import { createFairQueue } from '../fair-queue.js';
import type { Ticket } from '../fair-queue.js';
import { createThreadPool, TooExpensive } from '../threads/thread-pool.js';
import type { SchemaReply, SchemaRequest } from './schema-thread.js';

export interface Schemas {
  /** As models are shown it. Throws an UnfitSchema. */
  forModels(declared: unknown, signal: AbortSignal): Promise<JSONSchema7>;
  /** Of a result: whether it can be used at all, if there is one. Throws an UnfitSchema. */
  tryOut(schema: unknown, signal: AbortSignal): Promise<void>;
  /** What is wrong with a value, which is JSON; undefined where nothing is. Throws an UnfitSchema. */
  check(schema: unknown, value: string, ticket: Ticket): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The schema cannot be used. */
export class UnfitSchema extends Error {
  override readonly name = 'UnfitSchema';
}

const TIME_MS = 2_000;
const MEMORY_MB = 256;
/** Of schemas that were prepared: those of the tools of one server, mostly. */
const MOST_KEPT_CHARS = 4 * 1024 * 1024;
const LISTING = 'the listing of tools';

export function createSchemas(): Schemas {
  const queue = createFairQueue({
    what: 'checks of this server’s schemas',
    at_once: 2,
    per_group: 1,
    most_waiting: 1_000,
    wait_ms: 30_000,
  });
  const threads = createThreadPool<SchemaRequest, SchemaReply>({
    file: 'mcp/schema-thread.js',
    queue,
    time_ms: TIME_MS,
    memory_mb: MEMORY_MB,
  });
  const prepared = createKept<JSONSchema7>();
  const tried = createKept<true>();

  const ask = (request: SchemaRequest, ticket: Ticket) =>
    threads.ask(request, ticket).catch((error: unknown) => {
      throw error instanceof TooExpensive ? new UnfitSchema(`its schema cannot be evaluated: ${error.message}`) : error;
    });

  async function check(schema: unknown, value: string, ticket: Ticket): Promise<string | undefined> {
    return (await ask({ schema: textOf(schema), value }, ticket)).problem;
  }

  return {
    async forModels(declared, signal) {
      const text = textOf(declared);
      const known = prepared.get(text);
      if (known !== undefined) return known;
      const { schema, problem } = await ask({ declared: text }, { group: LISTING, signal });
      if (schema === undefined) throw new UnfitSchema(problem ?? 'its schema cannot be read');
      return prepared.set(text, JSON.parse(schema) as JSONSchema7);
    },
    async tryOut(schema, signal) {
      const text = textOf(schema);
      if (schema === undefined || tried.get(text) !== undefined) return;
      await check(schema, '{}', { group: LISTING, signal });
      tried.set(text, true);
    },
    check,
    close: () => threads.close(),
  };
}

function textOf(schema: unknown): string {
  const problem = schemaProblem(schema);
  if (problem !== undefined) throw new UnfitSchema(problem);
  return JSON.stringify(schema ?? null);
}

/** What was made of texts, until it is too much: it is then made anew. */
function createKept<T>(): { get(text: string): T | undefined; set(text: string, made: T): T } {
  const kept = new Map<string, T>();
  let chars = 0;
  return {
    get: (text) => kept.get(text),
    set(text, made) {
      chars += text.length;
      if (chars > MOST_KEPT_CHARS) {
        kept.clear();
        chars = text.length;
      }
      kept.set(text, made);
      return made;
    },
  };
}
