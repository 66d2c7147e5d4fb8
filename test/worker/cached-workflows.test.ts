import { getHeapStatistics } from 'node:v8';
import { Worker } from '@temporalio/worker';
import { afterEach, expect, it, vi } from 'vitest';
import { cachedWorkflows } from '../../worker/cached-workflows.js';
import { testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';

const MIB = 1024 * 1024;

afterEach(() => void vi.restoreAllMocks());

it('grows with the memory that Node may use, within bounds', () => {
  expect(cachedWorkflows(256 * MIB)).toBe(50);
  expect(cachedWorkflows(1024 * MIB)).toBe(128);
  expect(cachedWorkflows(2048 * MIB)).toBe(384);
  expect(cachedWorkflows(64 * 1024 * MIB)).toBe(1_000);
});

it.each([
  ['what the configuration says', { cached_workflows: 77 }, 77],
  ['else what its memory has room for', {}, cachedWorkflows(getHeapStatistics().heap_size_limit)],
])('a worker keeps %s', async (_what, runtime, expected) => {
  vi.stubEnv('PERDURE_TEST_WORKFLOW_CACHE', undefined);
  const create = vi.spyOn(Worker, 'create');
  const world = await createWorld(testConfig(runtime));
  expect(create.mock.calls.map(([{ maxCachedWorkflows }]) => maxCachedWorkflows)).toEqual([expected]);
  await world.end();
});
