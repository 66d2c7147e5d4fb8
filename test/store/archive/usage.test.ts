/** Usage, counted from the archive. */
import { beforeEach, expect, it } from 'vitest';
import { createArchive } from '../../../store/archive/archive.js';
import type { Archive } from '../../../store/archive/archive.js';
import { onBothDatabases } from '../databases.js';
import { eventsOf, runOf } from './runs.js';
import type { Given } from './runs.js';

const ALL = { from: '2026-01-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' };

onBothDatabases('usage', (fresh) => {
  let archive: Archive;
  beforeEach(async () => {
    archive = createArchive(await (await fresh()).open());
  });
  const put = (id: string, more: Partial<Given> = {}) => archive.putRun(runOf(id, more), eventsOf(id));
  const one = { runs: 1, steps: 2, tool_calls: 1, input_tokens: 100, output_tokens: 50, cost_usd: 0.25 };
  const times = (n: number) => Object.fromEntries(Object.entries(one).map(([name, value]) => [name, value * n]));

  it('is by org, user, agent, model or day, with a row of its own for what has none', async () => {
    const { org_id: _o, created_by: _c, model: _m, ...bare } = runOf('d', { ended_at: '2026-01-03T00:00:00.000Z' });
    await put('a');
    await put('b', { agent_id: 'a.b', created_by: 'bob', ended_at: '2026-01-02T23:59:59.999Z' });
    await put('c', { org_id: 'globex' });
    await archive.putRun(bare, eventsOf('d'));
    expect(await archive.usage({ ...ALL, by: 'org' })).toEqual([
      { key: 'acme', ...times(2) },
      { key: 'globex', ...one },
      { key: null, ...one },
    ]);
    expect(await archive.usage({ ...ALL, by: 'user' })).toEqual([
      { key: 'ann', org_id: 'acme', ...one },
      { key: 'ann', org_id: 'globex', ...one },
      { key: 'bob', org_id: 'acme', ...one },
      { key: null, org_id: null, ...one },
    ]);
    expect(await archive.usage({ ...ALL, by: 'agent' })).toEqual([
      { key: 'a.b', ...one },
      { key: 'demo.assistant', ...times(3) },
    ]);
    expect(await archive.usage({ ...ALL, by: 'model' })).toEqual([
      { key: 'gpt-5-mini', ...times(3) },
      { key: null, ...one },
    ]);
    expect(await archive.usage({ ...ALL, by: 'day' })).toEqual([
      { key: '2026-01-02', ...times(3) },
      { key: '2026-01-03', ...one },
    ]);
    expect(await archive.usage({ ...ALL, by: 'day', org_id: 'globex' })).toEqual([{ key: '2026-01-02', ...one }]);
  });

  it('is of the runs that ended from one time on and before another, and exact to the last of them', async () => {
    await put('before', { ended_at: '2026-01-31T23:59:59.999Z' });
    await put('first', { ended_at: '2026-02-01T00:00:00.000Z' });
    await put('after', { ended_at: '2026-03-01T00:00:00.000Z' });
    const february = { from: '2026-02-01T00:00:00Z', to: '2026-03-01T00:00:00Z', by: 'org' } as const;
    expect(await archive.usage(february)).toEqual([{ key: 'acme', ...one }]);
    await put('last', { ended_at: '2026-02-28T23:59:59.999Z' });
    expect(await archive.usage(february)).toEqual([{ key: 'acme', ...times(2) }]);
    await put('last', { ended_at: '2026-02-28T23:59:59.999Z' });
    await archive.deleteRun('first');
    expect(await archive.usage(february)).toEqual([{ key: 'acme', ...one }]);
    await expect(archive.usage({ ...february, to: 'never' })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('counts costs that are known, and large numbers exactly', async () => {
    const { cost_usd: _u, ...free } = runOf('free');
    await archive.putRun(free, eventsOf('free'));
    expect((await archive.usage({ ...ALL, by: 'org' }))[0]?.cost_usd).toBe(0);
    const many = 4_000_000_000_000;
    await put('a', { input_tokens: many + 1 });
    await put('b', { input_tokens: many + 1 });
    expect((await archive.usage({ ...ALL, by: 'org' }))[0]).toMatchObject({
      input_tokens: 2 * many + 102,
      cost_usd: 0.5,
    });
  });
});
