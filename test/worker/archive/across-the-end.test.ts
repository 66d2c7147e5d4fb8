/** Whoever follows a run across its end notices nothing, and every cursor that it was given goes on in the archive. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DIALECTS } from '../../../dialects/index.js';
import { runPath, serveFor } from '../../gateway/gateway-world.js';
import type { GatewayWorld } from '../../gateway/gateway-world.js';
import { call, script, testConfig } from '../../support/test-agents.js';
import { createArchivedWorld } from './archived-world.js';
import type { ArchivedWorld } from './archived-world.js';

let given: ArchivedWorld;
/** Over the worker's own client, which hears live text; over one that asks workers; over one that has the archive. */
let gateways: Record<'hearing' | 'live' | 'kept', GatewayWorld>;
const UNLIMITED = { requests_per_second: 1e6, request_burst: 1e6 };

beforeAll(async () => {
  given = await createArchivedWorld(testConfig());
  const { world, live, kept } = given;
  const serve = (client: typeof live) =>
    serveFor({ ...client, server: world.server }, { kind: 'off' }, { limits: UNLIMITED });
  gateways = { hearing: await serve(world), live: await serve(live), kept: await serve(kept) };
});
afterAll(async () => {
  for (const gateway of Object.values(gateways)) await gateway.stop();
  await given.end();
});

it('the story is the same for who heard it live, who followed with the archive, and who comes after', async () => {
  const { world, archived } = given;
  const input = script([
    {
      thinking: ['Let ', 'me ', 'see.'],
      text: ['I ', 'will ', 'echo.'],
      tool_calls: [call('tools.echo', { text: 'a' })],
    },
    { text: ['It ', 'is ', 'done.'], delay_ms: 30 },
  ]);
  const names = Object.keys(DIALECTS);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
  const at = (dialect: string) => runPath(run_id, `/events?dialect=${dialect}&format=sse`);
  const [heard, followed] = await Promise.all([
    Promise.all(names.map((name) => gateways.hearing.as().get(at(name)))),
    Promise.all(names.map((name) => gateways.kept.as().get(at(`${name}&commit=true`)))),
  ]);
  await archived(run_id);
  const again = await Promise.all(names.map((name) => gateways.live.as().get(at(`${name}&commit=true`))));
  for (const [n, name] of names.entries()) {
    expect(followed[n]?.text, name).toBe(again[n]?.text);
    const cursors = new Set([...(heard[n]?.text ?? '').matchAll(/^id: (.*)$/gm)].map(([, cursor]) => cursor ?? ''));
    expect(cursors.size, name).toBeGreaterThan(3);
    for (const cursor of cursors) {
      const from = `${at(name)}&from=${encodeURIComponent(cursor)}`;
      const [one, other] = await Promise.all([gateways.live.as().get(from), gateways.kept.as().get(from)]);
      expect(one.status, one.text).toBe(200);
      expect(other.text, `${name} from ${cursor}`).toBe(one.text);
    }
  }
  // Some of them are in the middle of a text, which only a reader of live text can be.
  expect(heard[names.indexOf('perdure')]?.text).toContain('text_chunk');
});
