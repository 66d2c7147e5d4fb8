/**
 * Many answers and many cancels to runs at once. Of the answers to a pause one is taken, and every other sender hears
 * why not; whoever is told to wait comes back. Nobody gets an error of ours, and no run is said to be gone.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableEvent, EventOf } from '../../contract/events.js';
import { createHeldUpdates } from '../support/held-updates.js';
import type { HeldUpdates } from '../support/held-updates.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { createOrgs, runPath, serveFor } from './gateway-world.js';
import type { Answer, Caller, GatewayWorld, Orgs } from './gateway-world.js';
import { PATIENT } from './threads/thread-gateway.js';

const PAUSES = 6;
const SENDERS = 8;
const WAITING = 5;

let world: World;
let held: HeldUpdates;
let orgs: Orgs;
let gateway: GatewayWorld;
let ada: Caller;
beforeAll(async () => {
  world = await createWorld(treeConfig());
  held = await createHeldUpdates(world, { waiting_commands: WAITING });
  orgs = await createOrgs();
  gateway = await serveFor({ ...world, client: held.client }, orgs.auth, { limits: PATIENT });
  ada = gateway.as(orgs.ada);
});
afterAll(async () => {
  await gateway.stop();
  await held.close();
  await world.end();
  await orgs.remove();
});

async function start(turns: Parameters<typeof script>[0], more: object = {}): Promise<string> {
  const answer = await ada.post('/v1/runs', { agent_id: 'test.node', input: script(turns), ...more });
  expect(answer.status, answer.text).toBe(201);
  return answer.body['run_id'] as string;
}

function waitOf(answer: Answer): number {
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  return seconds * 1_000;
}

/** The last answer. `onRefusal` hears of those that said to wait. */
async function patiently(send: () => Promise<Answer>, onRefusal = () => {}): Promise<Answer> {
  for (let answer = await send(); ; answer = await send()) {
    if (answer.status !== 429) return answer;
    const wait = waitOf(answer);
    onRefusal();
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

const codeOf = ({ status, body }: Answer): string =>
  status < 300 ? 'taken' : `${status} ${(body['error'] as { code: string }).code}`;

/** One sender was the first. */
function expectOneTaken(answers: readonly Answer[], refusals: readonly string[]): void {
  const codes = answers.map(codeOf);
  expect(codes.filter((code) => code === 'taken')).toEqual(['taken']);
  expect(codes.filter((code) => code !== 'taken' && !refusals.includes(code))).toEqual([]);
}

/** Pauses that are open, by their run. */
async function pausesOf<T extends 'await_approval' | 'await_clarification'>(
  runIds: readonly string[],
  type: T,
  count: number,
): Promise<EventOf<T>[]> {
  const found: EventOf<T>[] = [];
  for (const runId of runIds) {
    let seen: EventOf<T>[] = [];
    await until(async () => {
      const events: DurableEvent[] = [];
      for await (const event of world.client.runs.stream(runId, { follow: false }))
        if ('seq' in event) events.push(event);
      seen = ofType(events, type);
      return seen.length >= count;
    }, `${type} of ${runId}`);
    found.push(...seen);
  }
  return found;
}

describe('a storm', { timeout: 240_000 }, () => {
  it.each(['free', 'held'])('of decisions on many calls of a run takes one of each (%s)', async (way) => {
    const tool_calls = Array.from({ length: PAUSES }, (_, n) => ({
      tool: 'test.guarded.always',
      args: { text: `call ${n}` },
    }));
    const runId = await start([{ tool_calls }, { text: 'Done.' }]);
    const pauses = await pausesOf([runId], 'await_approval', PAUSES);
    // Nothing may be held for as long as a command has time.
    const senders = way === 'held' ? 3 : SENDERS;
    if (way === 'held') held.hold();
    let refused = 0;
    const all = Promise.all(
      pauses.map(({ await_id, digest }) =>
        Promise.all(
          Array.from({ length: senders }, (_, n) => {
            const decision = n % 2 === 0 ? 'approve' : 'deny';
            const send = () => ada.post(runPath(runId, '/approvals'), { await_id, digest, decision });
            return patiently(send, () => (refused += 1));
          }),
        ),
      ),
    );
    // Three are on their way, and so many wait for them.
    if (way === 'held') await until(() => refused >= PAUSES * senders - 3 - WAITING, 'the refusals');
    held.letGo();
    for (const answers of await all) expectOneTaken(answers, ['400 invalid_request', '409 run_ended']);
    const log = await world.logOf(runId);
    expect(ofType(log, 'await_resolved')).toHaveLength(PAUSES);
    expect(ofType(log, 'tool_result')).toHaveLength(PAUSES);
    expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
  });

  it('of answers to questions of many runs of a tree takes one of each', async () => {
    const asking = child([{ tool_calls: [ask('Which?')] }, { text: 'this' }]);
    const runId = await start([{ tool_calls: Array.from({ length: PAUSES }, () => asking) }, { text: 'Done.' }]);
    const children = Array.from({ length: PAUSES }, (_, n) => `${runId}/call_1_${n + 1}`);
    await until(async () => {
      const { children: started } = await world.client.runs.get(runId);
      return started.length === PAUSES;
    }, 'the children');
    const pauses = await pausesOf(children, 'await_clarification', 1);
    const all = await Promise.all(
      pauses.map(({ run_id, await_id }) =>
        Promise.all(
          Array.from({ length: SENDERS }, (_, n) =>
            patiently(() => ada.post(runPath(run_id, '/clarifications'), { await_id, answer: `sender ${n}` })),
          ),
        ),
      ),
    );
    for (const answers of all) expectOneTaken(answers, ['400 invalid_request', '409 run_ended']);
    expect((await world.logOf(runId)).at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
  });

  it.each(['free', 'held'])('of cancels ends each run once, whoever was first (%s)', async (way) => {
    const runIds = await Promise.all(Array.from({ length: 3 }, () => start([{ text: ['well'], hang: true }])));
    if (way === 'held') held.hold();
    const all = Promise.all(
      runIds.flatMap((runId) =>
        Array.from({ length: SENDERS + WAITING }, (_, n) =>
          patiently(() => ada.post(runPath(runId, '/cancel'), { note: `sender ${n}` })),
        ),
      ),
    );
    // Those that may not wait for others go as signals: the runs end while all updates are held.
    const ends = runIds.map((runId) => world.logOf(runId));
    if (way === 'held') await Promise.all(ends);
    held.letGo();
    const codes = (await all).map(codeOf);
    expect(codes.filter((code) => code !== 'taken' && code !== '409 run_ended')).toEqual([]);
    expect(codes).toContain('taken');
    for (const log of await Promise.all(ends)) {
      expect(ofType(log, 'run_completed')).toMatchObject([{ status: 'canceled' }]);
    }
  });
});
