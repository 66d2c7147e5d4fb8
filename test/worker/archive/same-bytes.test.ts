/**
 * A run that is read from the archive is the run that was read from its worker: byte for byte, in every dialect and
 * profile, from every cursor; with no worker left, and when Temporal has forgotten it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROFILES } from '../../../contract/profiles.js';
import { DIALECTS } from '../../../dialects/index.js';
import { runPath, serveFor } from '../../gateway/gateway-world.js';
import type { Caller, GatewayWorld } from '../../gateway/gateway-world.js';
import { call, script } from '../../support/test-agents.js';
import { child, treeConfig } from '../../support/tree-agents.js';
import { until } from '../../support/world.js';
import { createArchivedWorld } from './archived-world.js';
import type { ArchivedWorld } from './archived-world.js';

let given: ArchivedWorld;
let gateways: { live: GatewayWorld; kept: GatewayWorld };
/** What each run is a case of. */
const runs: Record<string, string> = {};
let all: string[];
/** The others are read in one dialect and profile, which is enough for their logs. */
const IN_EVERY_WAY = ['tools', 'tree', 'canceled', 'terminated'];

const leaf = (text: string) => [{ thinking: ['hm'], text: `said ${text}` }];
const INPUTS = {
  plain: script([{ text: ['Just ', 'so. 🙂'] }]),
  tools: script([
    { thinking: ['Let me ', 'see.'], text: 'I look.', tool_calls: [call('tools.echo', { text: 'a' })] },
    { tool_calls: [call('tools.act', { do: 'refuse' }), call('tools.echo', { text: 'b' })] },
    { text: 'So it is.' },
  ]),
  tree: script([
    { text: 'I ask one.', tool_calls: [child([{ tool_calls: [child(leaf('deep'))] }, { text: 'one' }])] },
    { text: 'I ask another.', tool_calls: [child(leaf('two'))] },
    { text: 'Both answered.' },
  ]),
  // Its children speak at the same time: in a flattened stream, no order between them is the right one.
  wide: script([{ tool_calls: [child(leaf('one')), child(leaf('two')), child(leaf('three'))] }, { text: 'Done.' }]),
  // Continues as new on its way.
  long: script([
    ...Array.from({ length: 8 }, (_, n) => ({ tool_calls: [call('tools.echo', { text: `${n}` })] })),
    { text: 'done' },
  ]),
  failed: script([{ fail: { code: 'model_refused' } }] as never),
};
/** From the archive they come faster than a caller may ask. */
const UNLIMITED = { requests_per_second: 1e6, request_burst: 1e6 };
const HANGING = script([{ text: ['I ', 'wait'], hang: true }]);

beforeAll(async () => {
  given = await createArchivedWorld(treeConfig({ continue_as_new_after_events: 30 }));
  const { world, live, kept, archived } = given;
  const start = async (input: string) =>
    (await world.client.runs.start({ agent_id: 'test.node', input, org_id: 'acme', created_by: 'ann' })).run_id;
  for (const [name, input] of Object.entries(INPUTS)) runs[name] = await start(input);
  runs['canceled'] = await start(HANGING);
  runs['terminated'] = await start(HANGING);
  for (const name of ['canceled', 'terminated']) {
    await until(async () => (await world.client.runs.tail(runs[name] ?? '')) >= 3, `${name} to write`);
  }
  await world.client.runs.cancel(runs['canceled'] ?? '', { note: 'enough' });
  await world.temporal.workflow.getHandle(runs['terminated'] ?? '').terminate('for the test');
  for (const runId of Object.values(runs)) await world.logOf(runId);
  const below = Object.values(runs).map(async (runId) => {
    const events = await world.logOf(runId);
    return events.flatMap((event) => (event.type === 'agent_run_started' ? [event.link.run_id] : []));
  });
  const children = (await Promise.all(below)).flat();
  all = [...Object.values(runs), ...children];
  // Its worker had no part in the end of the one that was terminated.
  await archived(...all.filter((runId) => runId !== runs['terminated']));
  await given.sweep();
  await archived(...all);
  const serve = (client: typeof live) =>
    serveFor({ ...client, server: world.server }, { kind: 'off' }, { limits: UNLIMITED });
  gateways = { live: await serve(live), kept: await serve(kept) };
});
afterAll(async () => {
  await gateways.live.stop();
  await gateways.kept.stop();
  await given.end();
});

/** All that can be read of a run over HTTP, by path. */
async function readAll(caller: Caller, runId: string): Promise<Record<string, string>> {
  const read: Record<string, string> = {};
  const get = async (rest: string) => {
    const { status, text, headers } = await caller.get(runPath(runId, rest)).catch((error: unknown) => {
      // A stream that was cut.
      if (!(error instanceof TypeError && error.message === 'terminated')) throw error;
      return { status: 0, text: 'cut', headers: new Headers() };
    });
    read[rest] = `${status} ${headers.get('perdure-tail-seq')} ${text.replaceAll(/"request_id":"[^"]*"/g, '')}`;
    return text;
  };
  const isWide = runId === runs['wide'];
  const isWhole = IN_EVERY_WAY.some((name) => runs[name] === runId);
  for (const profile of isWhole ? Object.keys(PROFILES) : ['agent_debug']) {
    for (const what of ['', '/tree', '/transcript', ...(isWide ? [] : ['/steps'])])
      await get(`${what}?profile=${profile}`);
    for (const dialect of isWhole ? Object.keys(DIALECTS) : ['perdure']) {
      for (const children of isWide ? ['linked'] : ['linked', 'flattened']) {
        const asked = `/events?profile=${profile}&dialect=${dialect}&children=${children}`;
        await get(`${asked}&follow=false`);
        const text = await get(`${asked}&format=sse`);
        const cursors = [...text.matchAll(/^id: (.*)$/gm)].map(([, cursor]) => cursor ?? '');
        for (const at of [Math.floor(cursors.length / 2), cursors.length - 1]) {
          const cursor = cursors[at];
          if (cursor !== undefined) await get(`${asked}&from=${encodeURIComponent(cursor)}`);
        }
      }
    }
  }
  if (isWide) {
    const { text } = await caller.get(runPath(runId, '/events?children=flattened&follow=false&trailer=false'));
    const events = text.trim().split('\n');
    for (const each of [runId, ...all.filter((id) => id.startsWith(`${runId}/`))]) {
      read[`flattened ${each}`] = events.filter((line) => line.includes(`"run_id":"${each}",`)).join('\n');
    }
  }
  for (const from of ['2', '-2', '0', '9999']) await get(`/events?from=${from}&follow=false`);
  return read;
}

async function described(client: ArchivedWorld['live'], runId: string): Promise<unknown> {
  const { runs: reader } = client.client;
  const failed = (error: unknown) => ({ error: (error as Error).message });
  return {
    record: await reader.describe(runId),
    snapshot: await reader.get(runId),
    tail: await reader.tail(runId),
    result: await reader.result(runId).catch(failed),
    canceling: await reader.cancel(runId).catch(failed),
    answering: await reader.answerClarification(runId, { await_id: 'a', answer: 'b' } as never).catch(failed),
  };
}

describe('runs of every kind', () => {
  const live: Record<string, Record<string, string>> = {};
  const known: Record<string, unknown> = {};

  it('are read from the archive as from their worker', { timeout: 240_000 }, async () => {
    for (const runId of all) {
      live[runId] = await readAll(gateways.live.as(), runId);
      known[runId] = await described(given.live, runId);
    }
    // The test would prove nothing with empty answers.
    const texts = Object.values(live[runs['tree'] ?? ''] ?? {});
    expect(texts.filter((text) => text.startsWith('200')).length).toBeGreaterThan(100);
    expect(live[runs['terminated'] ?? '']?.['?profile=agent_debug']).toContain('"reason":"terminated"');
    for (const runId of all) {
      const kept = await readAll(gateways.kept.as(), runId);
      const other = Object.keys(kept).filter((path) => kept[path] !== live[runId]?.[path]);
      expect(
        other.map((path) => [path, kept[path]]),
        runId,
      ).toEqual(other.map((path) => [path, live[runId]?.[path]]));
      expect(Object.keys(kept)).toEqual(Object.keys(live[runId] ?? {}));
      expect(await described(given.kept, runId), runId).toEqual(known[runId]);
    }
  });

  it(
    'are read so with every worker stopped, and when the server has forgotten them',
    { timeout: 240_000 },
    async () => {
      await given.world.stop();
      await given.forget(...all);
      await expect(given.live.client.runs.get(runs['plain'] ?? '')).rejects.toMatchObject({ code: 'unknown_run' });
      for (const runId of all) {
        const kept = await readAll(gateways.kept.as(), runId);
        const other = Object.keys(kept).filter((path) => kept[path] !== live[runId]?.[path]);
        expect(
          other.map((path) => [path, kept[path]]),
          runId,
        ).toEqual(other.map((path) => [path, live[runId]?.[path]]));
        expect(Object.keys(kept)).toEqual(Object.keys(live[runId] ?? {}));
        expect(await described(given.kept, runId), runId).toEqual(known[runId]);
      }
    },
  );
});
