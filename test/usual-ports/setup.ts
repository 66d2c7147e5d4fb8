/** A place for the histories that the servers of these tests leave, which are replayed at the end. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { replayAll } from '../support/replay-gate.js';
import { storedHistories } from '../support/stored-histories.js';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataRoot = await mkdtemp(join(tmpdir(), 'perdure-usual-ports-'));
  project.provide('dataRoot', dataRoot);
  return async () => {
    await replayAll(project.name, dataRoot, [storedHistories(dataRoot)]);
    await rm(dataRoot, { recursive: true, force: true });
  };
}
