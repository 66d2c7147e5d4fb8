/**
 * Workers that are killed while they copy runs into the archive: in the end each run that has ended is there, once and
 * whole, by the next worker or by the sweep. On both databases.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { sweepArchive } from '../../../worker/archive/sweep.js';
import { sweepScheduleId } from '../../../worker/archive/sweep-schedule.js';
import type { Archive } from '../../../store/archive/archive.js';
import { createDataDir } from '../../support/data-dir.js';
import { createDatabase, startPostgresIfPossible } from '../../support/postgres.js';
import { startWorkerProcess } from '../../support/worker-process.js';
import { call, script, testConfig } from '../../support/test-agents.js';
import { child, treeConfig } from '../../support/tree-agents.js';
import { createWorld, until } from '../../support/world.js';
import { createArchivedWorld } from './archived-world.js';

/** On each database. */
const ROUNDS = Number(process.env['PERDURE_TEST_ARCHIVE_KILLS'] ?? 5);
const RUNS_A_ROUND = 4;
const STORIES = [
  script([{ text: 'Hello.' }]),
  script([{ tool_calls: [call('tools.echo', { text: 'a'.repeat(20_000) })] }, { text: 'Done.' }]),
  script([{ tool_calls: [child([{ text: 'one' }]), child([{ text: 'two' }])] }, { text: 'Both.' }]),
];

const server = await startPostgresIfPossible((line) => process.stderr.write(`${line}\n`));
afterAll(() => server?.stop());

async function textsOf(archive: Archive, runId: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const { text } of archive.readEvents(runId)) texts.push(text);
  return texts;
}

describe('the archive of workers that are killed', { timeout: 300_000 }, () => {
  it.for(['sqlite', 'postgres'] as const)('has each run once and whole, on %s', async (dialect, { skip }) => {
    if (dialect === 'postgres' && server === undefined) skip();
    const url = dialect === 'postgres' ? await createDatabase(server?.url ?? '') : undefined;
    const [dataDir, taskQueue] = [await createDataDir('killed'), `test-${randomUUID()}`];
    // A client alone: its worker comes last.
    const starter = await createWorld(treeConfig(), { dataDir, taskQueue: `other-${randomUUID()}` });
    onTestFinished(() => starter.end());
    const roots: string[] = [];
    const inServer = { ...starter.server, taskQueue };
    for (let round = 0; round < ROUNDS; round++) {
      const worker = await startWorkerProcess({ server: inServer, trees: true, archive: url ?? true });
      for (let n = 0; n < RUNS_A_ROUND; n++) {
        const workflowId = `killed-${randomUUID()}`;
        const input = STORIES[n % STORIES.length] ?? '';
        const args = [{ agent_id: 'test.node', input, org_id: 'acme' }];
        await starter.temporal.workflow.start('agentRun', { workflowId, taskQueue, args });
        roots.push(workflowId);
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 2_000));
      worker.kill('SIGKILL');
      await worker.exited;
    }
    const given = await createArchivedWorld(treeConfig(), {
      dataDir,
      taskQueue,
      ...(url === undefined ? {} : { url }),
    });
    onTestFinished(() => given.end());
    const all: string[] = [];
    for (const root of roots) {
      await given.world.temporal.workflow.getHandle(root).result();
      all.push(root);
      for await (const event of given.live.client.runs.stream(root, { follow: false })) {
        if (event.type === 'agent_run_started') all.push(event.link.run_id);
      }
    }
    await given.sweep();
    await given.archived(...all);
    const listed: string[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await given.archive.listRuns({}, cursor, 100);
      listed.push(...page.runs.map(({ run_id }) => run_id));
      cursor = page.next_cursor;
    }
    expect(listed.toSorted()).toEqual(all.toSorted());
    for (const runId of all) {
      const log: string[] = [];
      for await (const event of given.live.client.runs.stream(runId, { follow: false, rest_chunks: false })) {
        log.push(JSON.stringify(event));
      }
      expect(log.length).toBeGreaterThan(4);
      expect(await textsOf(given.archive, runId), runId).toEqual(log);
      expect(await given.archive.getSummary(runId)).toMatchObject({ status: 'success', org_id: 'acme' });
    }
  });
});

describe('the sweep', { timeout: 120_000 }, () => {
  it('is made by a schedule on the server, finds what ended before there was an archive, and looks only at what is new', async () => {
    const [dataDir, taskQueue] = [await createDataDir('swept'), `test-${randomUUID()}`];
    const before = await createWorld(testConfig(), { dataDir, taskQueue });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await before.run('test.agent', STORIES[0] ?? ''))[0]?.run_id ?? '');
    await before.end();
    const given = await createArchivedWorld(testConfig(), { dataDir, taskQueue });
    onTestFinished(() => given.end());
    const { temporal } = given.world;
    const schedule = temporal.schedule.getHandle(sweepScheduleId(taskQueue));
    onTestFinished(() => schedule.delete());
    await schedule.trigger();
    await given.archived(...ids);
    expect(given.said).toEqual([]);
    const query = `WorkflowType = 'archiveSweep' AND TaskQueue = '${taskQueue}'`;
    await until(
      async () => (await temporal.workflow.count(`${query} AND ExecutionStatus = 'Completed'`)).count > 0,
      'it',
    );
    // From here on nobody else sweeps.
    await schedule.pause();
    // Nothing is missing, and only the last minutes are looked at.
    const { archive } = given;
    expect(await given.sweep()).toEqual({ looked_at: 5, archived: 0, put_off: 0 });
    const name = `default/${taskQueue}`;
    expect(await archive.sweeps.hold(name, 'later', 1_000)).toBeDefined();
    await archive.sweeps.release(name, 'later', Date.now() + 3_600_000);
    expect(await given.sweep()).toEqual({ looked_at: 0, archived: 0, put_off: 0 });
  });

  it('is not held up by a run that nobody can read now, and tries it again', async () => {
    const given = await createArchivedWorld(testConfig());
    onTestFinished(() => given.end());
    const { world, archive, live } = given;
    const { taskQueue } = world.server;
    onTestFinished(() => live.temporal.schedule.getHandle(sweepScheduleId(taskQueue)).delete());
    const [done] = await world.run('test.agent', STORIES[0] ?? '');
    const hanging = script([{ text: 'x', hang: true }]);
    const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input: hanging });
    await until(async () => (await world.client.runs.tail(run_id)) > 2, 'it to write');
    await given.archived(done?.run_id ?? '');
    await world.end();
    await live.temporal.workflow.getHandle(run_id).terminate();
    const options = { client: live.temporal, archive, taskQueue };
    expect(await sweepArchive(options)).toMatchObject({ archived: 0, put_off: 1 });
    const name = `default/${taskQueue}`;
    expect(await archive.sweeps.hold(name, 'look', 1)).toEqual({ sweptTo: expect.any(Number) });
    await archive.sweeps.release(name, 'look', Date.now() + 3_600_000);
    expect(await archive.sweeps.due(name, 10)).toEqual([]);
    const again = await createWorld(testConfig(), { dataDir: world.server.dataDir, taskQueue });
    onTestFinished(() => again.end());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 120_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await archive.sweeps.due(name, 10)).toEqual([run_id]);
    expect(await sweepArchive(options)).toEqual({ looked_at: 0, archived: 1, put_off: 0 });
    expect(await archive.sweeps.due(name, 10)).toEqual([]);
    expect(await archive.getSummary(run_id)).toMatchObject({ status: 'terminated', engine_status: 'TERMINATED' });
  });
});
