/**
 * One real Temporal dev server for all tests (or the one at TEMPORAL_ADDRESS), and the check that the build is there.
 *
 * At the end every history on that server is replayed against the bundle: one that does not replay would have hung its
 * run on the next worker. It fails the whole run of tests, and is kept as a file.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { TestProject } from 'vitest/node';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import { startEmbeddedServer } from '../worker/embedded-server.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import { workflowBundlePath } from '../worker/workflow-bundle.js';
import { replayHistories } from './support/replay-histories.js';

declare module 'vitest' {
  interface ProvidedContext {
    temporalAddress: string;
    dataRoot: string;
  }
}

const report = (line: string) => void process.stderr.write(`${line}\n`);

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
    const connection = await Connection.connect({
      address,
      channelArgs: { 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
    });
    // Another one's server has histories of others on it.
    try {
      if (server !== undefined) await replayAll(project.name, connection, dataRoot);
    } catch (error) {
      report(`the histories of the tests could not be replayed: ${String(error)}`);
      process.exitCode = 1;
    }
    await connection.close();
    await server?.stop();
    await rm(dataRoot, { recursive: true, force: true });
  };
}

async function replayAll(project: string, connection: Connection, dataRoot: string): Promise<void> {
  installRuntimeLog(() => {});
  const began = Date.now();
  const keepIn = join(tmpdir(), 'perdure-unreplayable');
  const { histories, failed } = await replayHistories(new Client({ connection }), { dataDirs: dataRoot, keepIn });
  const seconds = Math.round((Date.now() - began) / 1_000);
  report(`replayed ${histories} histories of the tests (${project}) in ${seconds} s, ${failed.length} failed`);
  for (const { id, error, file } of failed) report(`does not replay: ${id}: ${error}\n  its history is in ${file}`);
  if (failed.length > 0) process.exitCode = 1;
}
