/** The durable state of tools on the real server: parallel calls, children, turns of a thread, continue-as-new. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentAsTool, defineAgent, defineTool } from '../../kit/index.js';
import type { ConfigOptions, RuntimeOptions } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { script } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';

const visits = { scope: 'run', name: 'test.visits' } as const;
const notes = { scope: 'shared', name: 'test.notes' } as const;

const visit = defineTool({
  tool_id: 'test.state.visit',
  description: 'Goes to a place, at most twice in a run.',
  input: z.object({ place: z.string() }),
  reads: [visits],
  idempotent: true,
  run({ place }, { state }) {
    const before = Number(state.value(visits, place) ?? 0);
    const content = `🛑 ${place} is closed.`;
    state.increment(visits, place, { below: 2, otherwise: { content, notice: content } });
    return `${place} after ${before}`;
  },
});

const write = defineTool({
  tool_id: 'test.state.write',
  description: 'Notes a text.',
  input: z.object({ text: z.string(), fail: z.boolean().optional() }),
  run({ text, fail }, { state }) {
    state.append(notes, text);
    if (fail === true) throw new Error('it broke after the note');
    return 'noted';
  },
});

const read = defineTool({
  tool_id: 'test.state.read',
  description: 'Reads the notes.',
  input: z.object({}),
  reads: [notes],
  run: (_, { state }) =>
    state
      .entries(notes)
      .map((entry) => entry.value)
      .join(', '),
});

const peek = defineTool({
  tool_id: 'test.state.peek',
  description: 'Looks at what it did not ask for.',
  input: z.object({}),
  run: (_, { state }) => String(state.entries(notes).length),
});

const draw = defineTool({
  tool_id: 'test.state.draw',
  description: 'Makes a file.',
  input: z.object({}),
  async run(_, { file, notice }) {
    const { file_id } = await file({ filename: 'dot.svg', mime_type: 'image/svg+xml', content: '<svg/>' });
    notice('A dot was drawn.');
    return file_id;
  },
});

const tools = [visit, write, read, peek, draw];

function config(runtime: RuntimeOptions = {}): ConfigOptions {
  const leaf = defineAgent({ agent_id: 'test.leaf', description: 'Below.', instructions: 'Follow the script.', tools });
  const asTool = agentAsTool(leaf, {
    tool_id: 'test.agents.leaf',
    input: z.object({ script: z.string() }),
    prompt: ({ script: text }) => text,
  });
  return {
    models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
    agents: [
      leaf,
      defineAgent({ agent_id: 'test.top', instructions: 'Follow the script.', tools: [...tools, asTool] }),
    ],
    runtime,
  };
}

const call = (tool: string, args: object = {}) => ({ tool: `test.state.${tool}`, args });
const child = (turns: Parameters<typeof script>[0]) => ({ tool: 'test.agents.leaf', args: { script: script(turns) } });

describe.each([
  ['in one execution', {}],
  ['continued as new again and again', { continue_as_new_after_events: 12 }],
])('the state of tools, %s', (_name, runtime) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(config(runtime));
  });
  afterAll(() => world.end());

  const results = async (turns: Parameters<typeof script>[0]) =>
    ofType(await world.run('test.top', script(turns)), 'tool_result').map((event) => event.content);

  it('counts over the calls of a run', async () => {
    const once = { tool_calls: [call('visit', { place: 'inn' })] };
    expect(await results([once, once, once, { text: 'ok' }])).toEqual([
      'inn after 0',
      'inn after 1',
      '🛑 inn is closed.',
    ]);
  });

  it('two calls at once cannot both take the last place', async () => {
    const both = [call('visit', { place: 'inn' }), call('visit', { place: 'inn' })];
    const log = await world.run(
      'test.top',
      script([{ tool_calls: [call('visit', { place: 'inn' })] }, { tool_calls: both }, { text: 'ok' }]),
    );
    const said = ofType(log, 'tool_result').map((event) => event.content);
    expect(said.toSorted()).toEqual(['inn after 0', 'inn after 1', '🛑 inn is closed.']);
    expect(ofType(log, 'notice_posted').map((event) => event.text)).toEqual(['🛑 inn is closed.']);
    expect(ofType(log, 'tool_result').every((event) => event.status === 'success')).toBe(true);
  });

  it('a call that fails changes nothing', async () => {
    const said = await results([
      { tool_calls: [call('write', { text: 'a' })] },
      { tool_calls: [call('write', { text: 'b', fail: true })] },
      { tool_calls: [call('read')] },
      { text: 'ok' },
    ]);
    expect(said.at(-1)).toBe('a');
  });

  it('flows down to a child and back; what the run counts for itself does not', async () => {
    const said = await results([
      { tool_calls: [call('write', { text: 'from above' }), call('visit', { place: 'inn' })] },
      {
        tool_calls: [
          child([
            { tool_calls: [call('read'), call('visit', { place: 'inn' })] },
            { tool_calls: [call('write', { text: 'from below' })] },
            { text: 'below' },
          ]),
        ],
      },
      { tool_calls: [call('read')] },
      { tool_calls: [call('visit', { place: 'inn' })] },
      { text: 'ok' },
    ]);
    expect(said.slice(-2)).toEqual(['from above, from below', 'inn after 1']);
  });

  it('comes back from a child that failed', async () => {
    const said = await results([
      {
        tool_calls: [
          child([{ tool_calls: [call('write', { text: 'last words' })] }, { fail: { code: 'model_bad_request' } }]),
        ],
      },
      { tool_calls: [call('read')] },
      { text: 'ok' },
    ]);
    expect(said.at(-1)).toBe('last words');
  });

  it('goes on from turn to turn of a thread', async () => {
    const { threads } = world.client;
    const turns = [
      { tool_calls: [call('write', { text: 'first turn' }), call('visit', { place: 'inn' })] },
      { text: 'noted' },
      { tool_calls: [call('read'), call('visit', { place: 'inn' })] },
      { text: 'read' },
    ];
    const { thread_id } = await threads.start({ agent_id: 'test.top', messages: [script(turns)] });
    await settled(threads, thread_id);
    await threads.send(thread_id, { message: 'go on' });
    await settled(threads, thread_id);
    const log = await world.logOf(`${thread_id}/turn_2`);
    expect(ofType(log, 'tool_result').map((event) => event.content)).toEqual(
      expect.arrayContaining(['first turn', 'inn after 0']),
    );
  });

  it('is only read where the tool says that it reads it', async () => {
    const log = await world.run('test.top', script([{ tool_calls: [call('peek')] }, { text: 'ok' }]));
    expect(ofType(log, 'tool_result')).toMatchObject([
      { status: 'error', debug_message: expect.stringContaining('without naming it in `reads`') as string },
    ]);
  });

  it('files and notices are in the log before the result', async () => {
    const log = await world.run('test.top', script([{ tool_calls: [call('draw')] }, { text: 'ok' }]));
    const told = log.filter((event) => event.tool_call_id === 'call_1_1').map((event) => event.type);
    expect(told.slice(-3)).toEqual(['notice_posted', 'file_generated', 'tool_result']);
    const [file] = ofType(log, 'file_generated');
    expect(file).toMatchObject({ filename: 'dot.svg', mime_type: 'image/svg+xml', byte_size: 6 });
    expect(ofType(log, 'tool_result')).toMatchObject([{ content: file?.file_id }]);
  });
});

describe('a root run', () => {
  it('cannot be given a state', async () => {
    const world = await createWorld(config());
    try {
      const tool_state = { 'test.notes': [{ key: 'x', value: 'forged' }] };
      const log = await world.run('test.top', script([{ text: 'ok' }]), { tool_state });
      expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'invalid_request' } });
    } finally {
      await world.end();
    }
  });
});
