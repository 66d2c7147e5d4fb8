/**
 * The SDK handles events before their workflow task, for a query (docs/queries.md). The first test shows it with a plain
 * workflow: when it turns red, an SDK has mended it, and `workflows/refuse-early-events.ts` may go.
 *
 * How it is brought about: a query is sent while no worker is there and nothing is to be done; then an event comes. A
 * worker with one poller gets the query or the task first, by chance, so of twelve workflows some get the query first.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, QueryNotRegisteredError } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { EARLY_EVENTS } from '../../contract/names.js';
import { installRuntimeLog } from '../../worker/runtime-log.js';

installRuntimeLog(() => {});

const WORKFLOWS = 12;
const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

let connection: Connection;
let native: NativeConnection;
let client: Client;

beforeAll(async () => {
  const address = inject('temporalAddress');
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  client = new Client({ connection });
});

afterAll(async () => {
  await connection.close();
  await native.close();
});

interface Read {
  /** The first note, as a query saw it; undefined where it was refused, or saw none. */
  seen: string | undefined;
  refused: boolean;
  /** The first note as it is in the end. */
  noted: string | undefined;
}

async function queryBeforeTask(interceptorModules: string[]): Promise<Read[]> {
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: path('plain/take-notes.ts'),
    workflowInterceptorModules: interceptorModules,
    logger: new DefaultLogger('ERROR'),
  });
  const taskQueue = `early-${randomUUID()}`;
  const startWorker = async () => {
    const worker = await Worker.create({
      connection: native,
      taskQueue,
      workflowBundle,
      maxCachedWorkflows: 0,
      maxConcurrentWorkflowTaskPolls: 1,
    });
    const stopped = worker.run();
    return async () => {
      worker.shutdown();
      await stopped;
    };
  };

  const stopFirst = await startWorker();
  const handles = await Promise.all(
    Array.from({ length: WORKFLOWS }, () =>
      client.workflow.start('takeNotes', { taskQueue, workflowId: `notes-${randomUUID()}` }),
    ),
  );
  await Promise.all(handles.map((handle) => handle.query('notes')));
  await stopFirst();

  const reading = handles.map(async (handle) => {
    try {
      const [seen] = await handle.query<string[]>('notes');
      return { seen, refused: false };
    } catch (error) {
      if (!(error instanceof QueryNotRegisteredError) || !error.message.startsWith(EARLY_EVENTS)) throw error;
      return { seen: undefined, refused: true };
    }
  });
  // The server has the queries: whatever it is asked next comes after them.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  for (const handle of handles) await handle.signal('note', 'one');
  const stopSecond = await startWorker();
  const reads = await Promise.all(reading);
  for (const handle of handles) {
    await handle.signal('note', 'two');
    await handle.signal('note', 'three');
  }
  const results = await Promise.all(handles.map((handle) => handle.result() as Promise<string[]>));
  await stopSecond();
  return reads.map((read, n) => ({ ...read, noted: results[n]?.[0] }));
}

const isWrong = ({ seen, noted }: Read) => seen !== undefined && seen !== noted;

describe('a query that comes between an event and its workflow task', () => {
  it('shows what was never committed, with a plain workflow on this SDK', async () => {
    const reads = await queryBeforeTask([]);
    expect(reads.filter(isWrong).length).toBeGreaterThan(0);
  });

  it('is refused for the moment with our interceptor, and shows nothing that was not committed', async () => {
    const reads = await queryBeforeTask([path('../../workflows/refuse-early-events.ts')]);
    expect(reads.filter(isWrong)).toEqual([]);
    expect(reads.filter(({ refused }) => refused).length).toBeGreaterThan(0);
  });
});
