/**
 * With encryption keys, nothing that people, models or tools said is in Temporal or in storage in plain text: canaries in
 * every field, over random runs (PERDURE_ENCRYPTION_RUNS asks for more of them), while keys change.
 */
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import proto from '@temporalio/proto';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentAsTool, defineAgent, defineTool, ToolError } from '../../kit/index.js';
import type { ConfigOptions } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { createKeyRing } from '../../store/encryption/key-ring.js';
import { createDataDir } from '../support/data-dir.js';
import { playTree, treeCase } from '../support/random-trees.js';
import { script } from '../support/test-agents.js';
import { TEST_KEYS, testKey } from '../support/test-keys.js';
import { ask, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';

const RUNS = Number(process.env['PERDURE_ENCRYPTION_RUNS'] ?? 30);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);

/** Each is a word of its own, so that one that is found says where it was. */
const canary = (where: string) => `canary_${where}`;

const outputs: Record<string, (context: Parameters<Parameters<typeof defineTool>[0]['run']>[1]) => unknown> = {
  say: () => canary('tool_result'),
  progress: ({ progress, notice }) => {
    progress(canary('progress'));
    notice(canary('notice'));
    return { key: canary('json_result') };
  },
  throw: () => {
    throw new Error(canary('exception'));
  },
  refuse: () => {
    throw new ToolError('unavailable', canary('refusal'));
  },
  large: () => canary('large_result').repeat(20_000),
  huge: () => ({ text: canary('huge_result').repeat(2_000) }),
  file: ({ file }) =>
    file({ filename: `${canary('file_name')}.txt`, mime_type: 'text/plain', content: canary('file_content') }),
};

function canaryConfig(): ConfigOptions {
  const speak = defineTool({
    tool_id: 'canary_service.toolset.speak',
    description: `${canary('tool_description')}.`,
    input: z.object({ how: z.string(), about: z.string() }),
    idempotent: true,
    max_attempts: 2,
    run: async ({ how }, context) => (await outputs[how]?.(context)) as string,
  });
  const guarded = defineTool({
    tool_id: 'canary_service.toolset.guarded',
    description: 'Needs approval.',
    input: z.object({ about: z.string() }),
    approval: 'always',
    run: ({ about }) => about,
  });
  const child = defineAgent({
    agent_id: 'test.below',
    instructions: canary('child_instructions'),
    description: canary('child_description'),
    tools: [speak],
  });
  const { models, agents } = treeConfig();
  const agent = defineAgent({
    agent_id: 'test.secretive',
    instructions: canary('instructions'),
    clarifications: true,
    tools: [
      speak,
      guarded,
      agentAsTool(child, {
        tool_id: 'canary_service.agents.below',
        input: z.object({ script: z.string() }),
        prompt: '{{script}}',
      }),
    ],
  });
  return {
    models: { ...models, script: { provider: scripted(scriptFromInput), model: canary('model') } },
    agents: [agent, ...agents],
    runtime: { model_max_attempts: 2, long_pause: 400 },
  };
}

const speak = (how: string) => ({ tool: 'canary_service.toolset.speak', args: { how, about: canary('argument') } });

/** What is said to the run and by it. */
const CASES = {
  tools: script(
    [
      {
        thinking: [canary('thinking')],
        text: canary('text'),
        tool_calls: ['say', 'progress', 'throw', 'refuse', 'large', 'huge', 'file'].map(speak),
      },
      {
        tool_calls: [
          { tool: 'canary_service.agents.below', args: { script: script([{ text: canary('child_answer') }]) } },
        ],
      },
      { text: canary('answer') },
    ] as Parameters<typeof script>[0],
    { text: canary('synthesis') },
  ),
  asking: script([
    { tool_calls: [ask(canary('question'), [canary('choice'), 'other'])] },
    { tool_calls: [{ tool: 'canary_service.toolset.guarded', args: { about: canary('approved_argument') } }] },
    { tool_calls: [{ tool: 'client.declared.client_canary', args: { canary: canary('client_argument') } }] },
    { text: canary('answer') },
  ]),
  failing: script([{ attempts: [{ text: [canary('half')], fail: { code: 'model_bad_request' } }] }] as Parameters<
    typeof script
  >[0]),
  canceled: script([{ tool_calls: [ask(canary('question'))] }, { text: 'never' }]),
};

const request = {
  metadata: { about: canary('metadata') },
  client_tools: [
    {
      name: 'client_canary',
      description: canary('client_tool_description'),
      input_schema: { type: 'object', properties: { canary: { type: 'string', description: canary('schema') } } },
    },
  ],
};

/** Answers whatever the runs ask, with canaries, until they are over. */
async function play({ client }: World, name: keyof typeof CASES): Promise<string> {
  const { runs } = client;
  const { run_id } = await runs.start({ agent_id: 'test.secretive', input: CASES[name], ...request });
  for await (const event of runs.stream(run_id)) {
    if (event.type === 'await_clarification' && name === 'canceled')
      await runs.cancel(run_id, { note: canary('cancel_note') });
    else if (event.type === 'await_clarification')
      await runs.answerClarification(run_id, { await_id: event.await_id, answer: canary('clarification') });
    else if (event.type === 'await_approval') {
      const { await_id, digest } = event;
      await runs.decideApproval(run_id, { await_id, digest, decision: 'approve', note: canary('approval_note') });
    } else if (event.type === 'await_external_tools') {
      const results = event.calls.map(({ tool_call_id }) => ({
        tool_call_id,
        status: 'success' as const,
        output: canary('client_result'),
      }));
      await runs.submitToolResults(run_id, { results });
    }
  }
  return run_id;
}

async function talk({ client }: World): Promise<void> {
  const { threads } = client;
  const { thread_id } = await threads.start({
    agent_id: 'test.secretive',
    title: canary('title'),
    system_prompt: canary('system_prompt'),
    client_context: { page: canary('client_context') },
    metadata: { about: canary('thread_metadata') },
    messages: [script([{ text: canary('first_turn') }, { text: canary('second_turn') }])],
  });
  await settled(threads, thread_id);
  await threads.send(thread_id, { message: canary('message') });
  await settled(threads, thread_id);
}

/** All that Temporal has of the runs on a task queue, as bytes. */
async function inTemporal(temporal: Client, taskQueue: string): Promise<Map<string, Buffer>> {
  const { History } = proto.temporal.api.history.v1;
  const { DescribeWorkflowExecutionResponse } = proto.temporal.api.workflowservice.v1;
  const found = new Map<string, Buffer>();
  for await (const { workflowId, runId } of temporal.workflow.list({ query: `TaskQueue = '${taskQueue}'` })) {
    const history = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const { raw } = await temporal.workflow.getHandle(workflowId, runId).describe();
    found.set(
      `${workflowId} ${runId}`,
      Buffer.concat([History.encode(history).finish(), DescribeWorkflowExecutionResponse.encode(raw).finish()]),
    );
  }
  return found;
}

async function onDisk(dataDir: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(files.map(async (path) => [path, await readFile(path)] as const)));
}

function canariesIn(places: ReadonlyMap<string, Buffer>, words = /canary_\w{1,30}/g): string[] {
  const found = [...places.values()].flatMap((bytes) => bytes.toString('latin1').match(words) ?? []);
  return [...new Set(found)].toSorted();
}

const allPlaces = async (world: World) =>
  new Map([...(await inTemporal(world.temporal, world.server.taskQueue)), ...(await onDisk(world.server.dataDir))]);

async function playAll(world: World): Promise<void> {
  await Promise.all([...(Object.keys(CASES) as (keyof typeof CASES)[]).map((name) => play(world, name)), talk(world)]);
}

describe('what people, models and tools say', () => {
  let [plain, sealed]: World[] = [];
  beforeAll(async () => {
    plain = await createWorld(canaryConfig());
    sealed = await createWorld(canaryConfig(), { storage: { keys: TEST_KEYS.slice(0, 1) } });
    await Promise.all([playAll(plain), playAll(sealed)]);
  });
  afterAll(() => Promise.all([plain?.end(), sealed?.end()]));

  it('is in Temporal and on the disk without keys: all of it, so that the next test looks well', async () => {
    const found = canariesIn(await allPlaces(plain as World));
    const wanted = [
      ...Object.values(CASES).flatMap((text) => text.match(/canary_\w+/g) ?? []),
      ...JSON.stringify(request).match(/canary_\w+/g)!,
      ...['instructions', 'child_instructions', 'child_description', 'tool_description', 'model'].map(canary),
      ...['tool_result', 'progress', 'notice', 'json_result', 'exception', 'refusal'].map(canary),
      ...['file_name', 'file_content', 'clarification', 'approval_note', 'client_result', 'cancel_note'].map(canary),
      ...['title', 'system_prompt', 'client_context', 'thread_metadata', 'first_turn', 'second_turn'].map(canary),
      canary('message'),
    ].filter((word) => !['canary_half', 'canary_synthesis'].includes(word));
    expect(found).toEqual(expect.arrayContaining([...new Set(wanted)]));
    expect(found.some((word) => word.startsWith('canary_large_result'))).toBe(true);
  });

  it('is nowhere with keys', async () => {
    const places = await allPlaces(sealed as World);
    expect(places.size).toBeGreaterThan(8);
    expect(canariesIn(places)).toEqual([]);
  });

  it('is read by whoever has the keys, as it was said', async () => {
    const { client, artefacts, temporal, server } = sealed as World;
    const { runs } = await client.runs.list({ limit: 100 });
    expect(runs.length).toBeGreaterThan(0);
    const listed = temporal.workflow.list({ query: `TaskQueue = '${server.taskQueue}' AND WorkflowType = 'agentRun'` });
    let files = 0;
    for await (const { workflowId } of listed) {
      for await (const event of client.runs.stream(workflowId)) {
        if (event.type !== 'file_generated') continue;
        const bytes = await artefacts.of(workflowId).read(event.file_id);
        expect([event.filename, Buffer.from(bytes).toString()]).toEqual([
          `${canary('file_name')}.txt`,
          canary('file_content'),
        ]);
        files += 1;
      }
    }
    expect(files).toBe(1);
  });

  it('leaves a summary and a failure of the run that Temporal’s own tools can show, decrypted', async () => {
    const { temporal, client, storage } = sealed as World;
    const run_id = await play(sealed as World, 'failing');
    const { events } = await temporal.workflow.getHandle(run_id).fetchHistory();
    const summaries = (events ?? []).flatMap(({ userMetadata }) => userMetadata?.summary ?? []);
    expect(summaries.some(({ data }) => Buffer.from(data ?? []).includes('canary'))).toBe(false);
    const shown = (await storage.payloads.decode(summaries)).map(({ data }) => Buffer.from(data ?? []).toString());
    expect(shown).toContainEqual(expect.stringContaining(canary('model')));
    const error = await temporal.workflow
      .getHandle(run_id)
      .result()
      .catch((reason: unknown) => reason as Error & { cause?: Error });
    expect((error as { cause?: Error }).cause?.message).toContain(run_id);
    expect(await client.runs.describe(run_id)).toMatchObject({ run_id });
  });
});

describe(`keys that change while ${RUNS} random runs are on their way (PERDURE_SEED=${SEED})`, () => {
  it('lose nothing: all runs end, with old and new keys, and no plain text', { timeout: 600_000 }, async () => {
    const [first, second] = [TEST_KEYS.slice(0, 1), [testKey('k2'), testKey('k1')]];
    const dataDir = await createDataDir('rotated');
    const taskQueue = `rotated-${randomUUID()}`;
    const open = (keys: typeof TEST_KEYS) => {
      const config = canaryConfig();
      return createWorld(
        { ...config, ...treeConfig({ model_max_attempts: 2, long_pause: 400 }, { root: { await_expires_in: '5s' } }) },
        { dataDir, taskQueue, storage: { keys } },
      );
    };
    const cases = fc.sample(treeCase({ depth: 1, pauses: true }, false), { numRuns: RUNS, seed: SEED });
    const inputs = cases.map((given) => ({
      ...given,
      input: given.input.replaceAll('done', canary('done')).replaceAll('Which', canary('which')),
    }));
    // Some of them would hang for ever.
    const asked = { metadata: { about: canary('metadata') }, limits: { run: { time_budget: '15s' } } };
    const before = await open(first);
    // All know both keys before one of them encrypts with the new one.
    const reader = await open([testKey('k1'), testKey('k2')]);
    const played = inputs.map((given) => playTree(reader, given, asked));
    const isOn = async () => (await inTemporal(reader.temporal, taskQueue)).size >= Math.min(RUNS, 10);
    await until(isOn, 'some runs to be there', 60_000);
    await before.end();
    const after = await open(second);
    // On a quick machine all the others may be over by now: these are begun with the new key.
    played.push(...inputs.slice(0, 3).map((given) => playTree(after, given, asked)));
    const seen = await Promise.all(played);
    await reader.end();
    for (const { runs } of seen) {
      for (const events of runs.values()) expect(events.at(-1)).toMatchObject({ type: 'run_completed' });
    }
    const places = await allPlaces(after);
    expect(places.size).toBeGreaterThanOrEqual(RUNS);
    const words =
      /canary_\w{1,30}|the tool broke|not today|Follow the script|Spends money|client_pick|make_coffee|test\.tools\./g;
    expect(canariesIn(places, words)).toEqual([]);
    const used = new Set(
      [...places.values()].flatMap((bytes) => bytes.toString('latin1').match(/encryption-key-id..k\d/gs) ?? []),
    );
    expect([...used].map((text) => text.slice(-2)).toSorted()).toEqual(['k1', 'k2']);
    await after.end();
  });
});

describe('a key that is missing', () => {
  it('is named to whoever reads the run', async () => {
    const world = await createWorld(canaryConfig(), { storage: { keys: TEST_KEYS.slice(0, 1) } });
    const run_id = await play(world, 'tools');
    const { dataDir, taskQueue } = world.server;
    const other = await createWorld(canaryConfig(), { dataDir, taskQueue, storage: { keys: [testKey('k9')] } });
    await world.end();
    const error = await other.client.runs.result(run_id).catch((reason: unknown) => reason);
    expect(chain(error)).toContainEqual(
      expect.objectContaining({
        code: 'encryption_key_unknown',
        message: expect.stringContaining('the encryption key "k1" is not known here; there are only: k9'),
      }),
    );
    await other.end();
  });
});

describe('a function that gives the keys', () => {
  it('is asked again for a key that is not known, and now and then; where it fails, keys stay', async () => {
    let [now, asked] = [0, 0];
    let keys = [testKey('k1')];
    let broken = false;
    const ring = createKeyRing(
      () => {
        asked += 1;
        if (broken) throw new Error('the KMS is away');
        return keys;
      },
      () => now,
    );
    expect((await ring.current()).id).toBe('k1');
    keys = [testKey('k2'), testKey('k1')];
    expect((await ring.current()).id).toBe('k1');
    expect(asked).toBe(1);
    now += 5_000;
    expect((await ring.find('k2')).id).toBe('k2');
    expect((await ring.current()).id).toBe('k2');
    expect(asked).toBe(2);
    await expect(ring.find('k3')).rejects.toMatchObject({ code: 'encryption_key_unknown' });
    expect(asked).toBe(2);
    broken = true;
    now += 120_000;
    expect((await ring.current()).id).toBe('k2');
    expect(asked).toBe(3);
    keys = [];
    broken = false;
    now += 120_000;
    expect((await ring.current()).id).toBe('k2');
    expect((await ring.current()).id).toBe('k2');
    const none = createKeyRing(() => Promise.reject(new Error('the KMS is away')));
    await expect(none.current()).rejects.toMatchObject({
      code: 'encryption_keys_unreachable',
      message: expect.stringContaining('the KMS is away'),
    });
  });
});

it('a function that gives the keys and hangs holds up nobody who has one', async () => {
  let [now, asked] = [0, 0];
  const ring = createKeyRing(
    () => (++asked === 1 ? [testKey('k1')] : new Promise<never>(() => {})),
    () => now,
  );
  expect((await ring.current()).id).toBe('k1');
  now += 120_000;
  expect((await ring.current()).id).toBe('k1');
  expect((await ring.find('k1')).id).toBe('k1');
  expect(asked).toBe(2);
});

/** An error and its causes. */
function chain(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chain(error.cause)] : [];
}
