/** `perdure worker` on a server that is there, watched from another process. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { FETCH_TIMEOUT_MS } from '../support/redis-binary.js';
import { startRedis } from '../support/redis.js';
import { finished, jsonLines, perdure, script, sharedDataDir, testFolder } from './command.js';

/** As where the package is not installed, however it is asked for. */
const HIDE_IOREDIS = `
const Module = require('node:module');
const { _resolveFilename: resolve } = Module;
Module._resolveFilename = function (name, ...rest) {
  if (name === 'ioredis') throw Object.assign(new Error("Cannot find module 'ioredis'"), { code: 'MODULE_NOT_FOUND' });
  return resolve.call(this, name, ...rest);
};
const hook = 'export async function resolve(name, context, next) { if (name === "ioredis") throw new Error("ioredis is hidden"); return next(name, context); }';
Module.register('data:text/javascript,' + encodeURIComponent(hook));
`;

describe('perdure worker', () => {
  it('serves a run that waited for it, and drains at the first Ctrl-C; without Redis, text comes by the block', async () => {
    const [queue, runId] = [`cli-${randomUUID()}`, `cli-${randomUUID()}`];
    const flags = ['--address', inject('temporalAddress'), '--task-queue', queue, '--data-dir', sharedDataDir()];
    const input = script({ text: 'One two three four five six seven.', delay_ms: 100 });
    const run = perdure(['run', 'test.script', input, '--run-id', runId, '--json', ...flags]);
    await run.printed(`no worker polls the task queue "${queue}"`);
    const worker = perdure(['worker', ...flags]);
    await worker.printed(`worker for test.script, test.other on ${inject('temporalAddress')}`);
    const { code, stdout } = await finished(run);

    expect(code).toBe(0);
    expect(jsonLines(stdout).filter((event) => event['type'] === 'text_chunk')).toHaveLength(1);
    expect(await signalsOf(runId)).toBe(0);
    worker.signal('SIGINT');
    const ended = await finished(worker);
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/stopping: .*\nstopped\n$/) });
  });

  it('sends its text by the word to who has the same Redis', { timeout: FETCH_TIMEOUT_MS }, async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const queue = `cli-${randomUUID()}`;
    const flags = ['--address', inject('temporalAddress'), '--task-queue', queue, '--data-dir', sharedDataDir()];
    const worker = perdure(['worker', ...flags, '--redis-url', redis.url]);
    onTestFinished(() => worker.signal('SIGKILL'));
    await worker.printed('worker for');
    const runId = `cli-${randomUUID()}`;
    const input = script({ text: ['One ', 'two ', 'three ', 'four ', 'five.'], delay_ms: 200 });
    const env = { PERDURE_REDIS_URL: redis.url };
    const { code, stdout } = await finished(
      perdure(['run', 'test.script', input, '--run-id', runId, '--json', ...flags], { env }),
    );
    expect(code).toBe(0);
    expect(jsonLines(stdout).filter((event) => event['type'] === 'text_chunk').length).toBeGreaterThan(1);
    expect(await signalsOf(runId)).toBe(0);
  });

  it('names the package that it misses where a Redis is configured, and only there', async () => {
    const folder = testFolder();
    const hiding = join(folder, 'hide.cjs');
    writeFileSync(hiding, HIDE_IOREDIS);
    const flags = ['--address', inject('temporalAddress'), '--task-queue', `cli-${randomUUID()}`, '--data-dir', folder];
    const env = { NODE_OPTIONS: `--require ${hiding}` };
    const { code, stderr } = await finished(
      perdure(['worker', ...flags, '--redis-url', 'redis://127.0.0.1:1'], { env }),
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining('type "npm install ioredis@6"')]);
    const plain = perdure(['worker', ...flags], { env });
    await plain.printed('worker for');
    plain.signal('SIGINT');
    expect((await finished(plain)).code).toBe(0);
  });

  it('refuses to serve the built-in demo where there is no configuration', async () => {
    const folder = testFolder();
    const { code, stderr } = await finished(perdure(['worker'], { cwd: folder }));
    expect(code).toBe(2);
    expect(stderr).toContain(`there is none in ${folder}: give --config`);
  });

  it('ends with 5 where there is no server', async () => {
    const { code, stderr } = await finished(perdure(['worker', '--address', '127.0.0.1:1']));
    expect(code).toBe(5);
    expect(stderr).toContain('no Temporal server can be reached at 127.0.0.1:1 (from --address)');
  });
});

async function signalsOf(runId: string): Promise<number> {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const { events } = await new Client({ connection }).workflow.getHandle(runId).fetchHistory();
  await connection.close();
  return (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes != null).length;
}
