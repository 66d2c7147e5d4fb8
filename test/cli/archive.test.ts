/** `perdure worker` archives what it runs, and `perdure gateway` reads it when the worker is gone. */
import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { caller, runPath } from '../gateway/gateway-world.js';
import { until } from '../support/world.js';
import { finished, perdure, script, temporaryFolder } from './command.js';

const input = script({ text: 'Kept for later.' });

describe('the archive of the commands', { timeout: 240_000 }, () => {
  it('is written by the worker, and read and searched through the gateway without it', async () => {
    const [queue, dataDir] = [`cli-${randomUUID()}`, temporaryFolder()];
    const flags = ['--address', inject('temporalAddress'), '--task-queue', queue, '--data-dir', dataDir];
    const owner = ['--data-dir', dataDir, '--org', 'acme', '--user', 'ann'];
    const made = await finished(perdure(['keys', 'create', ...owner, '--profiles', 'agent_debug']));
    expect(made.code, made.stderr).toBe(0);
    const worker = perdure(['worker', ...flags]);
    onTestFinished(() => worker.signal('SIGKILL'));
    await worker.printed('worker for');
    const gateway = perdure(['gateway', ...flags, '--http-port', '0']);
    onTestFinished(() => gateway.signal('SIGKILL'));
    const me = caller(await gateway.printed(/gateway at (http:\S+:\d+),/), made.stdout.trim());
    const started = await me.post('/v1/runs', { agent_id: 'test.script', input });
    expect(started.status, started.text).toBe(201);
    const runId = String(started.body['run_id']);
    await until(async () => ((await me.get('/v1/runs?text=kept')).body['runs'] as unknown[]).length === 1, 'the run');
    worker.signal('SIGTERM');
    expect((await finished(worker)).code).toBe(0);
    const read = await me.get(runPath(runId));
    expect(read.status, read.text).toBe(200);
    expect(read.body).toMatchObject({ status: 'success', answer: 'Kept for later.' });
    const { text } = await me.get(runPath(runId, '/events'));
    expect(text).toContain('"run_completed"');
    gateway.signal('SIGTERM');
    expect((await finished(gateway)).code).toBe(0);
  });

  it('does not keep a worker from its work where the database is away', async () => {
    const queue = `cli-${randomUUID()}`;
    const flags = ['--address', inject('temporalAddress'), '--task-queue', queue, '--data-dir', temporaryFolder()];
    const env = { PERDURE_DATABASE_URL: 'postgresql://perdure:secret@127.0.0.1:1/perdure' };
    const worker = perdure(['worker', ...flags], { env });
    onTestFinished(() => worker.signal('SIGKILL'));
    await worker.printed('Runs go on, and are archived when it is back.');
    const run = await finished(perdure(['run', 'test.script', input, ...flags]));
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout).toContain('Kept for later.');
    worker.signal('SIGTERM');
    const ended = await finished(worker);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).not.toContain('secret');
  });
});
