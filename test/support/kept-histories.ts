/**
 * Histories of servers that a test starts for itself. They are kept before such a server stops, with the payloads that
 * left them, and replayed with all others at the end of the test run: one worker does so for all.
 */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { inject } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../contract/names.js';
import { startEmbeddedServer } from '../../worker/embedded-server.js';
import type { EmbeddedServer } from '../../worker/embedded-server.js';
import { historiesOn, MOST_BYTES } from './replay-histories.js';
import type { WorkflowList } from './replay-histories.js';
import { storeHistories } from './stored-histories.js';

/** `payloads` is the folder of what left the histories, if there is any: not needed where it is under `dataRoot`. */
export async function keepHistories(address: string, payloads?: string, list?: WorkflowList): Promise<void> {
  const connection = await Connection.connect({
    address,
    channelArgs: { 'grpc.max_receive_message_length': MOST_BYTES },
  });
  const client = new Client({ connection });
  const folder = await storeHistories(inject('dataRoot'), historiesOn(client, list));
  await connection.close();
  if (payloads === undefined) return;
  await cp(payloads, join(folder, 'payloads'), { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

interface OwnServerOptions {
  /** Without it, the server is in memory. */
  dataDir?: string;
  port?: number;
  dynamicConfig?: Record<string, number>;
  /** Of whoever runs workers on it. */
  payloads?: string;
}

export interface OwnServer extends EmbeddedServer {
  /** For a test that kills it, before it does. */
  keep(): Promise<void>;
}

/** A Temporal server of a test's own, whose histories are kept when it stops. */
export async function startOwnServer({ payloads, port = 0, ...place }: OwnServerOptions): Promise<OwnServer> {
  const server = await startEmbeddedServer({
    ...place,
    port,
    uiPort: false,
    namespace: 'default',
    searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword' as const])),
    report: () => undefined,
  });
  let isUp = true;
  void server.exited.then(() => (isUp = false));
  const keep = () => keepHistories(server.address, payloads);
  return {
    ...server,
    keep,
    async stop() {
      if (isUp) await keep();
      await server.stop();
    },
  };
}
