/** A route: one entry gives the router, the validation, the description and the probes of the tests. */
import { z } from 'zod';
import type { Runs, Threads } from '../client/index.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { ErrorCode, ErrorIssue } from '../contract/errors.js';
import type { Scope } from '../contract/scopes.js';
import { PerdureError } from '../contract/errors.js';
import type { RunRecord } from '../client/index.js';
import type { Storage } from '../store/open-storage.js';
import type { Records } from '../store/records.js';
import type { FileLinks } from './file-links.js';
import { invalidRequest } from './invalid-request.js';
import type { StreamSlots } from './limits/stream-slots.js';
import type { NamedThread } from './own-thread.js';
import type { Principal } from './principal.js';
import type { Catalog } from './shapes/catalog.js';

/** What the gateway keeps itself. */
export type GatewayRecords = Pick<Records, 'agents' | 'feedback' | 'archive'>;

/** What the routes work with. */
export interface RouteTools {
  runs: Runs;
  threads: Threads;
  records: GatewayRecords;
  artefacts: Pick<ArtefactStore, 'of' | 'unscoped'>;
  /** From what Temporal has to plain ones, and back. */
  payloads: Storage['payloads'];
  /** Absent: the gateway gives out no addresses of files. */
  files: FileLinks | undefined;
  /** Whose a run is; '' where it is nobody's. Throws `unknown_run`. */
  orgOf(runId: string): Promise<string>;
  catalog: Catalog;
  slots: StreamSlots;
  /** Calls back once the credential of a request is good no more; until it is told to stop. */
  whenRevoked(headers: Headers, cut: (error: unknown) => void): () => void;
  /** Whether a worker polls the task queue; rejects where the server gives no answer. */
  workerPolls(): Promise<boolean>;
  isStopping: () => boolean;
  /** What a reader cannot be told any more. */
  streamFailed(runId: string, error: unknown): void;
  metrics(): Promise<{ text: string; type: string }>;
  description(): object;
}

/** Who may call it: anybody, or whoever has the scope. */
export type Access = 'open' | Scope;

export interface Reply {
  description: string;
  /** Of the JSON. */
  schema?: z.ZodType;
  /** Media types of what is no JSON. */
  types?: readonly string[];
}

interface RouteFacts {
  operation: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * As in OpenAPI. `{run_id}` names a run and `{thread_id}` a thread, whose owner is checked before anything else is
   * done. What is below `/v1/ai` has an envelope: see there.
   */
  path: string;
  summary: string;
  access: Access;
  /** The answer is a stream, always: there is no HEAD of it. */
  streams?: true;
  /** An older spelling of another one. */
  deprecated?: true;
  headers?: Readonly<Record<string, string>>;
  replies: Readonly<Record<number, Reply>>;
  /** Those beside the ones that any route of its kind can give. */
  errors?: readonly ErrorCode[];
}

interface CallFacts {
  tools: RouteTools;
  principal: Principal;
  request: Request;
  /** Of the path, decoded. */
  params: Readonly<Record<string, string>>;
  /** All query parameters, as they came. */
  search: URLSearchParams;
}

export interface Call<Query, Body> extends CallFacts {
  query: Query;
  body: Body;
}

/** The run that the path names, and its root's record; of a turn, its own. */
export interface NamedRun {
  run_id: string;
  record: RunRecord;
}

/** What the path names, checked. */
export interface Named {
  run?: NamedRun;
  thread?: NamedThread;
}

/** What it takes to call a route of a thread: to be let to read it, or to change it. */
export type ThreadUse = 'read' | 'write';

export interface Route extends RouteFacts {
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Where the path names a thread. */
  use?: ThreadUse;
  answer(call: CallFacts & { body: unknown } & Named): Promise<Response>;
}

interface Schemas<Query extends z.ZodObject, Body extends z.ZodType> {
  query?: Query;
  body?: Body;
}
const NoQuery = z.strictObject({});
type NoQuery = typeof NoQuery;

export function defineRoute<Query extends z.ZodObject = NoQuery, Body extends z.ZodType = z.ZodUndefined>(
  definition: RouteFacts &
    Schemas<Query, Body> & {
      handle(call: Call<z.output<Query>, z.output<Body>>): Promise<Response> | Response;
    },
): Route {
  const { handle, ...facts } = definition;
  return {
    ...facts,
    answer: async ({ run: _run, thread: _thread, ...call }) => handle(checkedCall(definition, call)),
  };
}

/** About a run that its path names: never open, since there must be somebody whose run it is. */
export function defineRunRoute<Query extends z.ZodObject = NoQuery, Body extends z.ZodType = z.ZodUndefined>(
  definition: RouteFacts & {
    path: `${string}{run_id}${string}`;
    access: Exclude<Access, 'open'>;
    /** What it takes of the thread whose turn the run is; by default reading for a GET, and else writing. */
    use?: ThreadUse;
  } & Schemas<Query, Body> & {
      handle(call: Call<z.output<Query>, z.output<Body>> & { run: NamedRun }): Promise<Response> | Response;
    },
): Route {
  const { handle, ...facts } = definition;
  return {
    ...facts,
    async answer({ run, thread: _thread, ...call }) {
      if (run === undefined) throw new PerdureError('internal', `${facts.path} was called without its run`);
      return handle({ ...checkedCall(definition, call), run });
    },
  };
}

/** About a thread that its path names. */
export function defineThreadRoute<Query extends z.ZodObject = NoQuery, Body extends z.ZodType = z.ZodUndefined>(
  definition: RouteFacts & {
    path: `${string}{thread_id}${string}`;
    access: Exclude<Access, 'open'>;
    use: ThreadUse;
  } & Schemas<Query, Body> & {
      handle(call: Call<z.output<Query>, z.output<Body>> & { thread: NamedThread }): Promise<Response> | Response;
    },
): Route {
  const { handle, ...facts } = definition;
  return {
    ...facts,
    async answer({ run: _run, thread, ...call }) {
      if (thread === undefined) throw new PerdureError('internal', `${facts.path} was called without its thread`);
      return handle({ ...checkedCall(definition, call), thread });
    },
  };
}

function checkedCall<Query extends z.ZodObject, Body extends z.ZodType>(
  { query, body }: Schemas<Query, Body>,
  call: CallFacts & { body: unknown },
): Call<z.output<Query>, z.output<Body>> {
  return {
    ...call,
    query: checkShape(query ?? NoQuery, parameters(call.search), 'query') as z.output<Query>,
    body: checkShape(body ?? z.unknown(), call.body, 'body') as z.output<Body>,
  };
}

/** One that is given twice stays a list, which no schema takes. */
function parameters(search: URLSearchParams): Record<string, unknown> {
  const names = [...new Set(search.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = search.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

/** The value as the schema has it; what does not fit is refused field by field. */
export function checkShape<T extends z.ZodType>(schema: T, value: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.flatMap((issue) => issuesOf(issue, what));
  throw invalidRequest(`the ${what} is invalid`, issues);
}

/** Fields that are not known are named one by one, by their own path. */
function issuesOf(issue: z.core.$ZodIssue, what: string): ErrorIssue[] {
  const at = (...more: string[]) => [...issue.path, ...more].map(String).join('.') || what;
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ path: at(key), message: 'is not known' }));
  return [{ path: at(), message: issue.message }];
}
