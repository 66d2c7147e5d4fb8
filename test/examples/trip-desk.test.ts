/** The example of docs/runs.md, from its start to its end, with everything answered from code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenAwait } from '../../contract/awaits.js';
import { ClientToolSpec } from '../../contract/tools.js';
import config from '../../examples/trip-desk/perdure.config.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

const file = join(import.meta.dirname, '../../examples/trip-desk/client-tools.json');
const client_tools = ClientToolSpec.array().parse(JSON.parse(readFileSync(file, 'utf8')));

let world: World;

beforeAll(async () => {
  world = await createWorld(config.options);
});

afterAll(() => world.end());

/** Waits for the one open pause of the run that owns it. */
async function paused(runId: string, kind: OpenAwait['kind']): Promise<OpenAwait> {
  let found: OpenAwait | undefined;
  await until(async () => {
    const { awaits } = await world.client.runs.get(runId);
    found = awaits.find((entry) => entry.kind === kind);
    return found !== undefined;
  }, `a pause of kind ${kind} in ${runId}`);
  return found as OpenAwait;
}

const answerDate = async (run_id: string) => {
  const { await_id } = await paused(run_id, 'clarification');
  await world.client.runs.answerClarification(run_id, { await_id, answer: '19 June' });
};

const decide = async (run_id: string, decision: 'approve' | 'deny', note?: string) => {
  const { await_id, digest = '' } = await paused(run_id, 'approval');
  await world.client.runs.decideApproval(run_id, {
    await_id,
    decision,
    digest,
    ...(note === undefined ? {} : { note }),
  });
};

describe('the trip desk', () => {
  it('asks, sends two agents off at once, lets the caller pick a seat, and books with approval', async () => {
    const { runs } = world.client;
    const { run_id } = await runs.start({ agent_id: 'trips.desk', input: 'A few days in Oslo', client_tools });
    await answerDate(run_id);

    // The child's pause is seen from the root by its link, and answered where it is.
    const seen = await paused(run_id, 'external_tools');
    expect(seen.run_id).toBe(`${run_id}/call_2_1`);
    const own = await paused(seen.run_id, 'external_tools');
    expect(own.calls?.[0]).toMatchObject({ name: 'client.declared.client_pick_seat' });
    const tool_call_id = own.calls?.[0]?.tool_call_id ?? '';
    await runs.submitToolResults(seen.run_id, {
      results: [{ tool_call_id, status: 'success', output: { seat: '14A' } }],
    });

    const approval = await paused(run_id, 'approval');
    expect(JSON.parse(approval.calls?.[0]?.arguments ?? '')).toMatchObject({ total_eur: 403 });
    await decide(run_id, 'approve');

    const log = await world.logOf(run_id);
    expect(log.at(-1)).toMatchObject({
      status: 'success',
      answer: expect.stringMatching(/^You are going to Oslo\. Booked as PD-\d+ for 403 euros:[^]*seat 14A/),
      tree_usage: { model_calls: 9, tool_calls: 8, children: 2, cost_usd: expect.any(Number) },
    });
    const links = ofType(log, 'agent_run_started').map(({ link }) => link.agent_id);
    expect(links.toSorted()).toEqual(['trips.flights', 'trips.hotels']);
    const flight = ofType(log, 'tool_result').find(({ name }) => name === 'trips.agents.find_flight');
    expect(flight).toMatchObject({ link: { run_id: `${run_id}/call_2_1`, agent_id: 'trips.flights' } });
    expect(JSON.parse(String(flight?.content))).toEqual({
      quote: 'TP 1274 on 19 June at 07:40, seat 14A',
      price_eur: 144,
    });
  });

  it('does without the seat where the caller has no such tool, and books nothing that is denied', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'trips.desk', input: 'anywhere' });
    await answerDate(run_id);
    await decide(run_id, 'deny', 'too expensive');
    const log = await world.logOf(run_id);
    const { answer } = log.at(-1) as { answer?: string };
    expect(answer).toContain('I have not booked anything. This is what I found for Lisbon');
    expect(answer).toContain('They said: too expensive');
    expect(answer).not.toContain('seat');
  });

  it('ends as a whole when it is canceled in the middle of a pause of a child', async () => {
    const { runs } = world.client;
    const { run_id } = await runs.start({ agent_id: 'trips.desk', input: 'Kyoto', client_tools });
    await answerDate(run_id);
    await paused(run_id, 'external_tools');
    await runs.cancel(run_id, { reason: 'user_requested' });
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ status: 'canceled' });
    const child = await world.logOf(`${run_id}/call_2_1`);
    expect(child.at(-1)).toMatchObject({ status: 'canceled', cancellation: { reason: 'parent_canceled' } });
    expect(ofType(child, 'await_resolved')).toMatchObject([{ resolution: 'canceled' }]);
  });
});
