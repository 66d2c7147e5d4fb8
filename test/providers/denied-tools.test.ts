/** A tool that the policy denies is not offered; a model that calls it all the same hears that it is denied. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../kit/index.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { VENDORS, type Vendor } from './vendors.js';
import { startWireServer, type WireServer } from './wire-server.js';

const WEATHER = 'demo.weather.get_weather';
const CLOCK = 'demo.clock.current_time';
const tools = [WEATHER, CLOCK].map((tool_id) =>
  defineTool({ tool_id, description: 'Looks it up.', input: z.looseObject({}), run: () => 'noon' }),
);

describe.each(VENDORS)('$name', (vendor: Vendor) => {
  let server: WireServer;
  let world: World;
  beforeAll(async () => {
    server = await startWireServer(vendor.path);
    world = await createWorld({
      models: { real: { provider: vendor.connect(server.baseURL), model: vendor.model } },
      agents: [
        defineAgent({ agent_id: 'demo.guide', instructions: 'Help.', tools, policy: { deny: ['demo.weather.*'] } }),
      ],
    });
  });
  afterAll(async () => {
    await world.end();
    await server.close();
  });

  it('calls a denied tool, and is told so', async () => {
    server.reply(vendor.stream('parallel-tool-calls'));
    server.reply(vendor.stream('text'));
    const log = await world.run('demo.guide', 'What is it like in Paris?');
    const results = ofType(log, 'tool_result').map((result) => [
      result.tool_id,
      result.name,
      result.status === 'error' ? result.failure.kind : result.content,
    ]);
    expect(results).toContainEqual([WEATHER, WEATHER, 'denied']);
    expect(results).toContainEqual([CLOCK, CLOCK, 'noon']);
    expect(ofType(log, 'policy_decided')).toMatchObject([
      { tool_id: WEATHER, decision: 'deny' },
      { tool_id: CLOCK, decision: 'allow' },
    ]);
    // The vendor reads its own name again.
    const [first, second] = server.requests.slice(-2).map(({ body }) => JSON.stringify(body));
    expect(first).not.toContain('demo-weather-get_weather');
    expect(second).toContain('demo-weather-get_weather');
    expect(second).not.toContain(WEATHER.replaceAll('.', '_'));
  });
});
