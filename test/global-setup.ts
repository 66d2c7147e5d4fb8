/**
 * One real Temporal dev server for all tests (or the one at TEMPORAL_ADDRESS), and the check that the build is there. At
 * the end the histories on it are replayed, and those of servers that tests started for themselves.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { TestProject } from 'vitest/node';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import { startEmbeddedServer } from '../worker/embedded-server.js';
import { workflowBundlePath } from '../worker/workflow-bundle.js';
import { replayAll, report } from './support/replay-gate.js';
import { historiesOn, MOST_BYTES } from './support/replay-histories.js';
import { storedHistories } from './support/stored-histories.js';

declare module 'vitest' {
  interface ProvidedContext {
    temporalAddress: string;
    dataRoot: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  workflowBundlePath();
  const dataRoot = await mkdtemp(join(tmpdir(), 'perdure-test-'));
  project.provide('dataRoot', dataRoot);
  const given = process.env['TEMPORAL_ADDRESS'];
  const server =
    given === undefined
      ? await startEmbeddedServer({
          port: 0,
          uiPort: false,
          namespace: 'default',
          searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword' as const])),
          report,
        })
      : undefined;
  const address = server?.address ?? given ?? '';
  project.provide('temporalAddress', address);
  return async () => {
    const channelArgs = { 'grpc.max_receive_message_length': MOST_BYTES };
    const connection = await Connection.connect({ address, channelArgs });
    // Another one's server has histories of others on it.
    const shared = server === undefined ? [] : [historiesOn(new Client({ connection }))];
    await replayAll(project.name, dataRoot, [...shared, storedHistories(dataRoot)]);
    await connection.close();
    await server?.stop();
    await rm(dataRoot, { recursive: true, force: true });
  };
}
