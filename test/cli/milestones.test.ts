/** What `perdure dev` prints of the runs that its worker does: a line each time that one starts, waits, goes on or ends. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { app, finished, perdure, script, startDev, testFolder } from './command.js';
import type { Command, Dev } from './command.js';
import { clientTools, folder as tripDesk } from './trip-desk.js';

/** The lines of one run and those below it, without their times. */
const told = (dev: Command, runId: string) =>
  dev
    .stderr()
    .split('\n')
    .flatMap((line) => /^\d\d:\d\d:\d\d {2}(.*)$/.exec(line)?.[1] ?? [])
    .filter((line) => line.includes(`  ${runId}`));

describe('perdure dev, of runs', { timeout: 120_000 }, () => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev(app);
  });
  afterAll(() => dev.stop());
  const run = (input: string, runId: string) =>
    finished(perdure(['run', 'test.script', input, '--run-id', runId, ...dev.flags]));

  it('says that one started and ended, with what it took', async () => {
    const input = script({ tool_calls: [{ tool: 'test.work.wait', args: { ms: 5 } }] }, { text: 'Done.' });
    expect(await run(input, 'told-1')).toMatchObject({ code: 0 });
    await dev.command.printed(/ended {5}told-1/);
    expect(told(dev.command, 'told-1')).toEqual([
      expect.stringMatching(/^started {3}told-1 {2}test\.script: \{"turns":/) as string,
      expect.stringMatching(/^ended {5}told-1 {2}after [\d.]+ m?s: 2 model calls, 1 tool call$/) as string,
    ]);
  });

  it('says why one failed, and of a thread each turn', async () => {
    const lines = [script({ text: 'One.' }, { fail: { code: 'model_bad_request' } }), 'again'];
    const command = perdure(['chat', 'test.script', ...dev.flags], {
      stdin: lines.map((each) => `${each}\n`).join(''),
    });
    const { stderr } = await finished(command);
    const thread = /^thread (thr_\S+) with/m.exec(stderr)?.[1] ?? '';
    await dev.command.printed(`failed    ${thread}/turn_2`);
    expect(told(dev.command, thread)).toEqual([
      expect.stringContaining(`started   ${thread}/turn_1  test.script: {`) as string,
      expect.stringContaining(`ended     ${thread}/turn_1  after`) as string,
      `started   ${thread}/turn_2  test.script: again`,
      expect.stringMatching(/^failed {4}\S+ {2}model_bad_request: /) as string,
    ]);
  });

  it('says so where a server was named too, and a worker on its own does not', async () => {
    const folder = testFolder();
    const queue = (name: string) => ['--address', dev.address, '--task-queue', name, '--data-dir', folder];
    const workers = (['dev', 'worker'] as const).map((name) => ({ name, command: perdure([name, ...queue(name)]) }));
    onTestFinished(async () => {
      for (const { command } of workers) command.signal('SIGTERM');
      await Promise.all(workers.map(({ command }) => command.exited));
    });
    for (const { name, command } of workers) {
      await command.printed(`task queue ${name}`);
      const args = ['run', 'test.script', script({ text: 'Hi.' }), '--run-id', `told-by-${name}`, ...queue(name)];
      expect(await finished(perdure(args))).toMatchObject({ code: 0 });
    }
    const [asDev, asWorker] = workers;
    await asDev?.command.printed('ended     told-by-dev');
    expect(asWorker?.command.stderr()).not.toContain('told-by-worker');
  });
});

describe('perdure dev, of runs that wait', { timeout: 120_000 }, () => {
  it('says for what, and what to type; that they go on; and that they were canceled', async () => {
    const dev = await startDev(tripDesk);
    onTestFinished(() => dev.stop());
    const done = (...args: string[]) => finished(perdure([...args, ...dev.flags], { cwd: tripDesk }));
    const watcher = perdure(
      ['run', 'trips.desk', 'Oslo', '--run-id', 'told-2', '--client-tools', clientTools, ...dev.flags],
      { cwd: tripDesk },
    );
    await dev.command.printed('waits     told-2  for an answer');
    expect(await done('answer', 'told-2', '19 June', '--by', 'ada')).toMatchObject({ code: 0 });
    await dev.command.printed('waits     told-2/call_2_1');
    expect(await done('cancel', 'told-2')).toMatchObject({ code: 0 });
    await watcher.exited;
    await dev.command.printed('canceled  told-2  ');
    const lines = told(dev.command, 'told-2').filter((line) => !line.includes('call_2_2'));
    expect(lines).toEqual([
      'started   told-2  trips.desk: Oslo',
      'waits     told-2  for an answer: When do you want to fly to Oslo?  (npx perdure answer told-2)',
      'goes on   told-2  answered by ada',
      expect.stringMatching(/^started {3}told-2\/call_2_1 {2}trips\.flights: /) as string,
      'waits     told-2/call_2_1  for the result of client.declared.client_pick_seat  (npx perdure answer told-2/call_2_1)',
      'goes on   told-2/call_2_1  canceled',
      'canceled  told-2/call_2_1  parent_canceled',
      'canceled  told-2  user_requested',
    ]);
  });

  it('names the call that waits for approval', async () => {
    const dev = await startDev(tripDesk);
    onTestFinished(() => dev.stop());
    const watcher = perdure(['run', 'trips.desk', 'Oslo', '--run-id', 'told-3', ...dev.flags], { cwd: tripDesk });
    await dev.command.printed('waits     told-3  for an answer');
    const answered = await finished(perdure(['answer', 'told-3', '19 June', ...dev.flags], { cwd: tripDesk }));
    expect(answered).toMatchObject({ code: 0 });
    await dev.command.printed(/waits {5}told-3 {2}for approval of trips\.bookings\.book_trip \{"flight":/);
    watcher.signal('SIGINT');
    expect(await watcher.exited).toBe(3);
  });
});
