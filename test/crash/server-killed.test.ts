/** The embedded server killed under load and started again on its file: what it has acknowledged is not lost. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOwnServer } from '../support/kept-histories.js';
import type { OwnServer } from '../support/kept-histories.js';
import { call, script } from '../support/test-agents.js';
import { ofType } from '../support/world.js';
import { createCrashWorld, eventually, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld } from './crash-world.js';
import { expectWholeStory, shownOf } from './same-story.js';

const LANES = 4;

describe('the embedded server killed with SIGKILL under load', { timeout: TEST_TIMEOUT_MS }, () => {
  let folder: string;
  let server: OwnServer;
  let world: CrashWorld;

  const startServer = (port: number) => startOwnServer({ dataDir: join(folder, 'server'), port });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-server-killed-'));
    server = await startServer(0);
    world = await createCrashWorld(server.address);
    await world.startWorker();
  }, TEST_TIMEOUT_MS);
  afterAll(async () => {
    await world.end();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('and started again has lost no acknowledged start, cancel or event', async () => {
    const { runs } = world.client;
    const words = Array.from({ length: 100 }, (_, n) => `word${n} `);
    const gate = join(folder, 'gate');
    // One streams and one waits in a tool while the server is away.
    const streaming = await world.read('test.patient', script([{ text: words, delay_ms: 100 }]));
    const waiting = await world.read(
      'test.patient',
      script([{ tool_calls: [call('patient.await_file', { path: gate })] }, { text: words }]),
    );
    await eventually(() => shownOf(streaming, 'step_1.block_1', 1) !== '', 'the first words');
    await eventually(() => waiting.events.some((event) => event.type === 'tool_scheduled'), 'the waiting tool');

    /** What was acknowledged: starts with the answer that each must come to, starts of runs that hang, cancels. */
    const answers = new Map<string, string>();
    const hanging = new Set<string>();
    const canceled = new Set<string>();
    let killed = false;
    const start = async (input: string) => (await runs.start({ agent_id: 'test.agent', input })).run_id;
    const startAnswer = async (answer: string) => {
      const turns = [{ tool_calls: [call('tools.echo', { text: answer })] }, { text: answer, delay_ms: 200 }];
      answers.set(await start(script(turns)), answer);
    };
    const startAndCancel = async () => {
      const runId = await start(script([{ text: ['I ', 'hang'], hang: true }]));
      hanging.add(runId);
      await runs.cancel(runId, { note: 'by the load' });
      canceled.add(runId);
    };
    const lane = async (name: number) => {
      for (let n = 0; !killed; n++) {
        try {
          await (n % 4 === 3 ? startAndCancel() : startAnswer(`the answer ${name}.${n}`));
        } catch {
          // Not acknowledged, so not promised.
        }
      }
    };
    const load = Promise.all(Array.from({ length: LANES }, (_, name) => lane(name)));
    await eventually(() => answers.size >= 40 && canceled.size >= 8, 'a good number of acknowledgements');
    process.kill(server.pid, 'SIGKILL');
    expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });
    killed = true;
    server = await startServer(Number(server.address.split(':')[1]));
    await load;
    await writeFile(gate, '');

    for (const [runId, answer] of answers)
      expect(await runs.result(runId)).toMatchObject({ status: 'success', answer });
    for (const runId of canceled)
      expect(await runs.result(runId)).toMatchObject({ status: 'canceled', cancellation: { note: 'by the load' } });
    for (const runId of hanging) expect(await runs.get(runId)).toMatchObject({ run: { run_id: runId } });
    // Who watched over the crash has the whole story too.
    for (const reader of [streaming, waiting]) {
      await reader.done;
      expect(expectWholeStory(reader).at(-1)).toMatchObject({ status: 'success', answer: words.join('') });
    }
    expect(ofType(waiting.events, 'tool_result')).toMatchObject([{ status: 'success', content: 'there it is' }]);
  });
});
