/** A gateway that is killed and comes back on the same port, while a client reads. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createHttpClient } from '../../../client/http/index.js';
import type { StreamEvent } from '../../../client/http/index.js';
import { call, script } from '../../support/test-agents.js';
import { child, treeConfig } from '../../support/tree-agents.js';
import { createWorld, durable } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { startGatewayProcess } from '../../support/gateway-process.js';
import type { GatewayProcess } from '../../support/gateway-process.js';

const words = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n} `);

describe('a gateway that is killed', { timeout: 120_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(treeConfig());
  });
  afterAll(() => world.end());

  /** Live text comes to it by signals. */
  async function startGateway(port = 0): Promise<GatewayProcess> {
    const gateway = await startGatewayProcess({ server: world.server, port, live: 'temporal' });
    onTestFinished(gateway.kill);
    return gateway;
  }

  /** Reads to the end; so often, in the middle of live text, the gateway is killed and started again. */
  async function readOverKills(gateway: GatewayProcess, runId: string, kills: number, children?: 'flattened') {
    const { runs } = createHttpClient({ url: gateway.url });
    const port = Number(new URL(gateway.url).port);
    const events: StreamEvent[] = [];
    let running = gateway;
    let [restarts, pieces] = [0, 0];
    for await (const event of runs.stream(runId, children === undefined ? {} : { children })) {
      events.push(event);
      if (event.type !== 'text_chunk' || ++pieces % 3 !== 0 || restarts === kills) continue;
      restarts += 1;
      await running.kill();
      running = await startGateway(port);
    }
    expect(restarts).toBe(kills);
    expect(pieces).toBeGreaterThan(kills * 3);
    return events;
  }

  /** Each block's chunks are its text: no word twice, none missing. */
  function expectWholeTexts(events: readonly StreamEvent[]): void {
    for (const end of durable(events)) {
      if (end.type !== 'text_end') continue;
      const pieces = events.flatMap((event) =>
        event.type === 'text_chunk' && event.run_id === end.run_id && event.block_id === end.block_id
          ? [event.text]
          : [],
      );
      expect(pieces.join('')).toBe(end.text);
    }
  }

  it('loses its reader nothing: every durable event once and in order, no live text twice', async () => {
    const gateway = await startGateway();
    const input = script([
      { text: words('first', 400), delay_ms: 50, tool_calls: [call('tools.echo', { text: 'x' })] },
      { text: words('second', 200), delay_ms: 50 },
    ]);
    const { run_id } = await createHttpClient({ url: gateway.url }).runs.start({ agent_id: 'test.node', input });
    const events = await readOverKills(gateway, run_id, 2);
    expect(durable(events)).toEqual(await world.logOf(run_id));
    expect(events.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
    expectWholeTexts(events);
  });

  it('loses the reader of a tree nothing, of any run in it', async () => {
    const gateway = await startGateway();
    const leaf = (name: string) => child([{ text: words(name, 250), delay_ms: 50 }]);
    const input = script([{ tool_calls: [leaf('a'), leaf('b')] }, { text: words('end', 20), delay_ms: 40 }]);
    const { run_id } = await createHttpClient({ url: gateway.url }).runs.start({ agent_id: 'test.node', input });
    const events = await readOverKills(gateway, run_id, 1, 'flattened');
    const runIds = [run_id, `${run_id}/call_1_1`, `${run_id}/call_1_2`];
    for (const id of runIds) {
      expect(durable(events).filter((event) => event.run_id === id)).toEqual(await world.logOf(id));
    }
    expect(events.at(-1)).toMatchObject({ type: 'run_completed', run_id });
    expectWholeTexts(events);
  });
});
