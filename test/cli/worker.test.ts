/** `perdure worker` on a server that is there, watched from another process. */
import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { finished, jsonLines, perdure, script, testFolder } from './command.js';

describe('perdure worker', () => {
  it('serves a run that waited for it, sends its text live, and drains at the first Ctrl-C', async () => {
    const [queue, runId] = [`cli-${randomUUID()}`, `cli-${randomUUID()}`];
    const flags = ['--address', inject('temporalAddress'), '--task-queue', queue, '--data-dir', testFolder()];
    const input = script({ text: 'One two three four five six seven.', delay_ms: 100 });
    const run = perdure(['run', 'test.script', input, '--run-id', runId, '--json', ...flags]);
    await run.printed(`no worker polls the task queue "${queue}"`);
    const worker = perdure(['worker', ...flags]);
    await worker.printed(`worker for test.script, test.other on ${inject('temporalAddress')}`);
    const { code, stdout } = await finished(run);

    expect(code).toBe(0);
    expect(jsonLines(stdout).filter((event) => event['type'] === 'text_chunk')).not.toEqual([]);
    worker.signal('SIGINT');
    const ended = await finished(worker);
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/stopping: .*\nstopped\n$/) });
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
