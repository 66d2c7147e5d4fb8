/** While the database is away, runs notice nothing; when it is back, all that has ended is taken in, without a sweep. */
import Sqlite from 'libsql';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDatabase, startPostgresIfPossible } from '../../support/postgres.js';
import { startCutProxy } from '../../support/cut-proxy.js';
import { script, testConfig } from '../../support/test-agents.js';
import { until } from '../../support/world.js';
import { createArchivedWorld } from './archived-world.js';
import type { ArchivedWorld } from './archived-world.js';

const server = await startPostgresIfPossible((line) => process.stderr.write(`${line}\n`));
afterAll(() => server?.stop());

const RUNS = 12;
const hello = script([{ text: 'Hello.' }]);

/** Milliseconds from the start of each run to its end; and the runs. */
async function play({ world }: ArchivedWorld): Promise<{ ids: string[]; median: number }> {
  const [ids, took]: [string[], number[]] = [[], []];
  for (let n = 0; n < RUNS; n++) {
    const began = performance.now();
    const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input: hello });
    await world.temporal.workflow.getHandle(run_id).result();
    took.push(performance.now() - began);
    ids.push(run_id);
  }
  return { ids, median: took.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? 0 };
}

async function checkAway(given: ArchivedWorld, cut: () => void, mend: () => void): Promise<void> {
  await play(given);
  const before = await play(given);
  await given.archived(...before.ids);
  cut();
  const during = await play(given);
  expect(await given.archive.findMissing(during.ids)).toEqual(during.ids);
  // Generous: what waits for the database waits for seconds.
  expect(during.median).toBeLessThan(before.median * 2 + 20);
  await until(() => given.said.length > 0, 'a word on the database', 60_000);
  mend();
  await given.archived(...during.ids);
  const after = await play(given);
  await given.archived(...after.ids);
  const [first, second, ...more] = given.said;
  expect(first).toMatch(/^archive: .*\. Runs go on, and are archived when it is back\.$/);
  expect(second).toMatch(/^archive: the database is back/);
  expect(more).toEqual([]);
  for (const runId of [...before.ids, ...during.ids, ...after.ids]) {
    expect((await given.kept.client.runs.get(runId)).answer).toBe('Hello.');
  }
}

describe('a database that is away', { timeout: 180_000 }, () => {
  it('as a file that another process keeps locked', async () => {
    const given = await createArchivedWorld(testConfig());
    onTestFinished(() => given.end());
    const other = new Sqlite(`${given.world.server.dataDir}/perdure.db`);
    await checkAway(
      given,
      () => void other.exec('begin immediate'),
      () => void other.exec('rollback'),
    );
    other.close();
  });

  it.skipIf(server === undefined)('as a server that cannot be reached', async () => {
    const url = await createDatabase(server?.url ?? '');
    const proxy = await startCutProxy(Number(new URL(url).port));
    onTestFinished(() => proxy.close());
    const through = new URL(url);
    through.port = String(proxy.port);
    const given = await createArchivedWorld(testConfig(), { url, workerUrl: through.href });
    onTestFinished(() => given.end());
    await checkAway(given, proxy.cut, proxy.mend);
  });
});
