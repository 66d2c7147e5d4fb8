/** `perdure ls`, `threads` and `cancel`, over Temporal and through a gateway. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/world.js';
import { app, finished, jsonLines, perdure, script, startDev } from './command.js';
import type { Command, Dev } from './command.js';

let dev: Dev;
let watcher: Command;
const begin = (runId: string, agent: string, input: string) =>
  perdure(['run', agent, input, '--run-id', runId, '--url', dev.http]);
const hang = script({ text: 'I begin', hang: true });

beforeAll(async () => {
  dev = await startDev(app);
  await finished(begin('first', 'test.script', script({ text: 'One.' })));
  await finished(begin('second', 'test.other', script({ text: 'Two.' })));
  watcher = begin('third', 'test.script', hang);
  await watcher.printed('I begin');
  await until(async () => (await http('/v1/runs?phase=completed')) === 2, 'the ends to be listed');
  await until(async () => (await http('/v1/runs')) === 3, 'all to be listed');
});
afterAll(async () => {
  watcher.signal('SIGHUP');
  await watcher.exited;
  await dev.stop();
});

/** How many are listed. */
async function http(path: string): Promise<number> {
  const page = (await (await fetch(dev.http + path)).json()) as Record<'runs' | 'threads', unknown[] | undefined>;
  return (page.runs ?? page.threads ?? []).length;
}

/** The same command, both ways. */
const ways = () => [dev.flags, ['--url', dev.http]];
const listed = async (...args: string[]) => jsonLines((await finished(perdure(['ls', '--json', ...args]))).stdout);
const ids = async (...args: string[]) => (await listed(...dev.flags, ...args)).map(({ run_id }) => run_id);

describe('perdure ls', () => {
  it('lists runs, the newest first, as a table or as lines of JSON', async () => {
    for (const way of ways()) {
      const { code, stdout, stderr } = await finished(perdure(['ls', ...way]));
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const [heading, ...rows] = stdout.trimEnd().split('\n');
      expect(heading).toMatch(/^run +agent +phase +waits for +started +took$/);
      const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
      expect(rows).toEqual([
        expect.stringMatching(new RegExp(`^third +test\\.script +\\w+ +${time} +[\\d.]+ m?s$`)),
        expect.stringMatching(new RegExp(`^second +test\\.other +completed +${time} +[\\d.]+ m?s$`)),
        expect.stringMatching(new RegExp(`^first +test\\.script +completed +${time} +[\\d.]+ m?s$`)),
      ]);
      expect((await listed(...way))[1]).toMatchObject({
        run_id: 'second',
        agent_id: 'test.other',
        phase: 'completed',
        engine_status: 'completed',
        created_at: expect.stringMatching(/Z$/),
      });
    }
  });

  it('filters by agent, phase and pause, and says where there are more', async () => {
    expect(await ids('--agent', 'test.script')).toEqual(['third', 'first']);
    expect(await ids('--phase', 'completed', '--agent', 'test.other')).toEqual(['second']);
    const none = await finished(perdure(['ls', '--waiting', ...dev.flags]));
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'no runs\n' });
    // As a run that waits writes it; nobody polls its queue, so that it stays so.
    const start = ['temporal', 'workflow', 'start', '--type', 'agentRun', '--task-queue', 'nobody', '-w', 'fourth'];
    const waits = ['--search-attribute', 'PerdureWaiting="approval"', '--address', dev.address];
    expect(await finished(perdure([...start, ...waits]))).toMatchObject({ code: 0 });
    await until(async () => (await http('/v1/runs?waiting=true')) === 1, 'it to be listed');
    for (const way of ways()) {
      const { stdout } = await finished(perdure(['ls', '--waiting', ...way]));
      expect(stdout).toMatch(/^run .*\nfourth +running +approval +\d{4}-.*\n$/);
      const two = await finished(perdure(['ls', '--limit', '2', ...way]));
      expect(two.stdout.trimEnd().split('\n')).toHaveLength(3);
      expect(two.stderr).toBe('there are more runs: ask with a larger --limit\n');
    }
    const wrong = await finished(perdure(['ls', '--phase', 'done', ...dev.flags]));
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('Allowed choices are prompted, planning') });
  });
});

describe('perdure threads', () => {
  it('lists threads with their titles, and whose turn it is', async () => {
    const talk = ['chat', 'test.script', ...dev.flags];
    const { stderr } = await finished(perdure(talk, { stdin: `${script({ text: 'Hi.' })}\n/title A talk\n` }));
    const threadId = /^thread (thr_\S+) with/m.exec(stderr)?.[1] ?? '';
    const lines = async (way: string[]) => (await finished(perdure(['threads', ...way]))).stdout.trimEnd().split('\n');
    await until(async () => (await http('/v1/threads')) === 1, 'the thread to be listed');
    for (const way of ways()) {
      const [heading, row] = await lines(way);
      expect(heading).toMatch(/^thread +status +title +agent +created$/);
      expect(row).toMatch(new RegExp(`^${threadId} +waiting for you +A talk +test\\.script +\\d{4}-`));
      const json = await finished(perdure(['threads', '--json', ...way]));
      expect(jsonLines(json.stdout)).toMatchObject([{ thread_id: threadId, status: 'waiting_for_you', turns: 1 }]);
      const none = await finished(perdure(['threads', '--agent', 'test.other', ...way]));
      expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'no threads\n' });
    }
  });
});

describe('perdure cancel', () => {
  it('tells a run to stop, with a reason and a note that are in its log', async () => {
    for (const [n, way] of ways().entries()) {
      const runId = `canceled-${n}`;
      const canceled = begin(runId, 'test.script', hang);
      await canceled.printed('I begin');
      const { code, stdout } = await finished(
        perdure(['cancel', runId, '--reason', 'deadline', '--note', 'too late', ...way]),
      );
      expect({ code, stdout }).toEqual({ code: 0, stdout: `told to stop: ${runId}\n` });
      expect(await finished(canceled)).toMatchObject({
        code: 3,
        stdout: expect.stringContaining('deadline (too late)'),
      });
      const again = await finished(perdure(['cancel', runId, ...way]));
      expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('has ended') });
    }
  });

  it('takes a thread for its open turn, and the run of a turn for itself', async () => {
    for (const [n, way] of ways().entries()) {
      const chat = perdure(['chat', 'test.script', ...dev.flags], { stdin: `${hang}\n` });
      const threadId = await chat.printed(/^thread (thr_\S+) with/m);
      await chat.printed('I begin');
      const turn = `${threadId}/turn_1`;
      const { code, stdout } = await finished(perdure(['cancel', n === 0 ? threadId : turn, ...way]));
      expect({ code, stdout }).toEqual({ code: 0, stdout: `told to stop: ${turn}\n` });
      expect(await finished(chat)).toMatchObject({ code: 3 });
      const idle = await finished(perdure(['cancel', threadId, ...way]));
      expect(idle).toMatchObject({ code: 2, stderr: expect.stringContaining('No turn is going on in thread thr_') });
    }
  });

  it('says that there is no such run', async () => {
    for (const way of ways()) {
      const { code, stderr } = await finished(perdure(['cancel', 'nowhere', ...way]));
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('there is no run "nowhere"') });
    }
  });
});
