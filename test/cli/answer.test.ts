/** `perdure answer` on runs of the trip desk: what is open, who it is for, and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answer } from '../../cli/answer.js';
import type { Wish } from '../../cli/submit-answer.js';
import { choosePause } from '../../cli/choose-pause.js';
import type { Runs } from '../../client/index.js';
import type { Pause } from '../../cli/open-pauses.js';
import { parseResults } from '../../cli/parse-results.js';
import type { RunSnapshot } from '../../contract/snapshot.js';
import { sitDownAt } from './pseudo-terminal.js';
import { clientTools, folder as tripDesk, openTripDesk } from './trip-desk.js';
import type { TripDesk } from './trip-desk.js';

describe('perdure answer', () => {
  let desk: TripDesk;
  beforeAll(async () => {
    desk = await openTripDesk();
  });
  afterAll(() => desk.stop());

  /** Until the pause is there: the run needs a moment to get to it. */
  async function listed(runId: string, pattern: RegExp): Promise<string> {
    for (let tries = 0; tries < 20; tries++) {
      const { stdout } = await desk.done('answer', runId);
      if (pattern.test(stdout)) return stdout;
    }
    throw new Error(`${runId} never came to wait for ${String(pattern)}`);
  }

  it('lists what is open with what to type, answers it, also below the run, and refuses a second answer', async () => {
    const runId = await desk.start('--client-tools', clientTools);
    const first = await desk.done('answer', runId);
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(new RegExp(`^trips\\.desk  ${runId}  clarification_call_1_1, expires in \\d+ d`));
    expect(first.stdout).toContain('\n  When do you want to fly to Oslo?\n  1) 12 June\n  2) 19 June\n');
    expect(first.stdout).toContain(`npx perdure answer ${runId} "12 June" --address `);

    const wrongKind = await desk.done('answer', runId, '--approve');
    expect(wrongKind).toMatchObject({ code: 2, stdout: '' });
    expect(wrongKind.stderr).toContain('clarification_call_1_1 waits for a question, which a text answers');

    expect(await desk.done('answer', runId, '19 June', '--by', 'ada')).toMatchObject({ code: 0 });
    const again = await desk.done('answer', runId, '12 June', '--await', 'clarification_call_1_1');
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(/clarification_call_1_1 is over: answered by ada at .* The first answer stands\./);

    const child = `${runId}/call_2_1`;
    expect(await listed(runId, /client_pick_seat/)).toContain(`answer ${child} --result call_2_1='…'`);
    const seat = await desk.done('answer', runId, '--result', 'call_2_1={"seat":"14A"}');
    expect(seat).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^trips\\.flights  ${child} [^]*answered\n$`)),
    });

    const [, digest = ''] =
      /--await approval_call_\d_1 --approve ([0-9a-f]{8}) /.exec(await listed(runId, /approve/)) ?? [];
    // Whoever has not read it approves nothing, and names no other call.
    for (const wish of [['y'], ['yes'], ['--approve'], ['--approve', '--await', 'approval_call_3_1']]) {
      expect(await desk.done('answer', runId, ...wish)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/A call is approved by its digest[^]*"total_eur":403[^]*--approve [0-9a-f]{8} /),
      });
    }
    expect(await desk.done('answer', runId, '--approve', '00000000')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/No call of \S+ that waits has the digest 00000000: it is another one by now/),
    });
    const approved = await desk.done('answer', runId, '--approve', digest, '--note', 'have fun');
    expect(approved.stdout).toMatch(
      / {2}\{.*"total_eur":403\}\n {2}may it call trips\.bookings\.book_trip\napproved\n$/,
    );
    const events = await desk.done('inspect', runId, '--events');
    expect(events.stdout).toContain('clarification_call_1_1: answered by ada');
    expect(events.stdout).toContain('(have fun)');
  }, 150_000);

  it('denies with a reason that the model hears, and has nothing to do when the run is over', async () => {
    const runId = await desk.start();
    await desk.done('answer', runId, '12 June');
    await listed(runId, /approve/);
    expect(await desk.done('answer', runId, 'maybe')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/"maybe" is neither yes nor no: [^]*Open:[^]*--approve/),
    });
    expect(await desk.done('answer', runId, 'no, too far')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\ndenied\n$/),
    });
    const ended = await desk.done('tree', runId, '--follow');
    expect(ended.stdout).toContain('They said: too far');

    expect(await desk.done('answer', runId)).toMatchObject({
      code: 0,
      stdout: `${runId} waits for nobody: it has ended (success).\n`,
    });
    const late = await desk.done('answer', runId, '--approve');
    expect(late).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('waits for nobody: it has ended (success)'),
    });
  });

  it('shows a call at a terminal before a yes counts, however it was said', { timeout: 120_000 }, async () => {
    const runId = await desk.start();
    await desk.done('answer', runId, '12 June');
    await listed(runId, /approve/);
    for (const wish of ['y', '--approve']) {
      const seat = sitDownAt(['answer', runId, wish, ...desk.flags], { cwd: tripDesk });
      await seat.shows(/"flight":[^]*may it call trips\.bookings\.book_trip\ny or n; what follows/);
      if (wish === 'y') seat.type('\x03');
      else seat.type('y\r');
      expect(await seat.exited).toBe(wish === 'y' ? 130 : 0);
    }
    const ended = await desk.done('tree', runId, '--follow');
    expect(ended.stdout).toContain('success');
  });

  it('asks again at a terminal where the answer to an approval is neither yes nor no', async () => {
    const runId = await desk.start();
    await desk.done('answer', runId, '12 June');
    await listed(runId, /approve/);
    const seat = sitDownAt(['answer', runId, 'maybe', ...desk.flags], { cwd: tripDesk });
    await seat.shows(/may it call trips\.bookings\.book_trip[^]*"maybe" is neither yes nor no[^]*> ▏/);
    seat.type('perhaps\r');
    await seat.shows('"perhaps" is neither yes nor no');
    seat.type('y\r');
    expect(await seat.exited).toBe(0);
    expect(seat.text()).toMatch(/\napproved\n/);
    const ended = await desk.done('tree', runId, '--follow');
    expect(ended.stdout).toContain('success');
  });

  it('ends with 2 for a run that does not exist', async () => {
    const { code, stderr } = await desk.done('answer', 'no-such-run', 'hello');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('there is no run "no-such-run"') });
  });
});

describe('an answer that is none', () => {
  it.each([
    [undefined, { approve: true, deny: true }, 'One answer at a time'],
    ['text', { result: ['call_1_1=x'] }, 'One answer at a time'],
    [undefined, { note: 'why' }, '--note goes with --approve or --deny'],
    [undefined, { approve: 'yes' }, '--approve takes the digest of the call'],
    [undefined, { result: ['call_1_1'] }, '--result takes CALL=VALUE'],
    [undefined, { await: 'x' }, 'says which pause, and not the answer'],
    ['  ', {}, 'The answer is empty'],
  ])('is refused before anybody is asked: %j %j', (text, flags, message) => {
    expect(() => answer('any-run', text, flags)).toThrow(message);
  });
});

describe('which pause an answer is for', () => {
  const pause = (run_id: string, await_id: string, kind: Pause['kind'], more: Partial<Pause> = {}): Pause => ({
    run_id,
    await_id,
    kind,
    agent_id: 'a.b',
    ...more,
  });
  const calls = [{ tool_call_id: 'call_1_1', name: 'client.declared.client_x', arguments: '{}' }];
  const question = pause('r', 'clarification_call_1_1', 'clarification', { question: 'Which?' });
  const below = pause('r/call_1_2', 'clarification_call_1_1', 'clarification', { question: 'When?' });
  const approval = pause('r/call_1_3', 'approval_call_1_1', 'approval', { calls, digest: 'd' });
  const client = pause('r/call_1_4', 'external_tools_step_1', 'external_tools', { calls });
  const text: Wish = { kind: 'clarification', text: 'this' };

  const choose = (pauses: Pause[], wish: Wish, awaitId?: string) =>
    choosePause({
      runs: { stream: (() => (async function* () {})()) as unknown as Runs['stream'] },
      snapshot: { run: { run_id: 'r' }, status: 'running', phase: 'planning' } as RunSnapshot,
      pauses,
      wish,
      awaitId,
      flags: '',
    });

  it('is the one that takes such an answer', async () => {
    const all = [question, approval, client];
    expect(await choose(all, text)).toBe(question);
    expect(await choose(all, { kind: 'approval', decision: 'approve' })).toBe(approval);
    const swapped = pause('r/call_1_3', 'approval_call_2_1', 'approval', { calls, digest: 'e'.repeat(16) });
    const read: Wish = { kind: 'approval', decision: 'approve', digest: 'eeeeeeee' };
    expect(await choose([approval, swapped], read)).toBe(swapped);
    await expect(choose([approval], read)).rejects.toThrow(/No call of r that waits has the digest eeeeeeee/);
    expect(
      await choose(all, {
        kind: 'external_tools',
        results: parseResults({ result: ['call_1_1=1'], error: [], declined: [] }),
      }),
    ).toBe(client);
  });

  it('must be said where several would, and they are listed with commands that say it', async () => {
    await expect(choose([question, below], text)).rejects.toThrow(
      /2 pauses of r could be meant[^]*answer r --await clarification_call_1_1 "…"[^]*answer r\/call_1_2 "…"/,
    );
    expect(await choose([question, below], text, 'clarification_call_1_1')).toBe(question);
  });

  it('is none where nothing is open, or nothing of that name', async () => {
    await expect(choose([], text)).rejects.toThrow('r waits for nobody: it is in the phase planning.');
    await expect(choose([question], text, 'other')).rejects.toThrow(/r has no pause other\.\n\nOpen:/);
  });
});

describe('results on the command line', () => {
  it('are JSON or text, errors, or declined', () => {
    const result = ['call_1_1={"a":1}', 'call_1_2=x=y'];
    expect(parseResults({ result, error: ['call_1_3=42'], declined: ['call_1_4'] })).toEqual([
      { tool_call_id: 'call_1_1', status: 'success', output: { a: 1 } },
      { tool_call_id: 'call_1_2', status: 'success', output: 'x=y' },
      { tool_call_id: 'call_1_3', status: 'error', output: '42' },
      { tool_call_id: 'call_1_4', status: 'declined' },
    ]);
  });

  it('are given once for a call', () => {
    expect(() => parseResults({ result: ['c=1'], error: ['c=2'], declined: [] })).toThrow('two results for c');
  });
});
