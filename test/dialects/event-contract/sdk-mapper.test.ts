/**
 * The contract's own SDK as a judge of our lines: `projectdavid` on PyPI, whose mapper makes typed events of chunks. The
 * release is of the seed's age: the last that knows the seed's types and no later one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StreamEvent } from '../../../contract/live-events.js';
import { applyProfile, PROFILES } from '../../../contract/profiles.js';
import type { ContractLine } from '../../../dialects/event-contract/shapes.js';
import { defineTool } from '../../../kit/index.js';
import { runPath, serveFor } from '../../gateway/gateway-world.js';
import type { GatewayWorld } from '../../gateway/gateway-world.js';
import { findOrMakePython, INSTALL_TIMEOUT_MS } from '../../support/python-environment.js';
import { call, script } from '../../support/test-agents.js';
import { treeConfig } from '../../support/tree-agents.js';
import { createWorld } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { linesOf, tellAll } from '../tell-all.js';

type WireLine = Record<string, unknown> & { type: string; run_id: string };
type Mapped = { event: string; fields: Record<string, unknown> } | null;

/** What the seed calls the event of each type, or what the SDK calls it where the seed is silent. */
const EVENTS: Record<ContractLine['type'], string | null> = {
  content: 'ContentEvent',
  reasoning: 'ReasoningEvent',
  web_status: 'WebStatusEvent',
  research_status: 'ResearchStatusEvent',
  scratchpad_status: 'ScratchpadEvent',
  code_status: 'CodeStatusEvent',
  hot_code: 'HotCodeEvent',
  hot_code_output: 'CodeExecutionOutputEvent',
  // "error events collapse to a WebStatusEvent with status='failed'"
  error: 'WebStatusEvent',
  // It leaves these to the page: of calls it knows only the manifest of one that the caller must run, and of files
  // only the older name.
  tool_call_start: null,
  status: null,
  generated_file: null,
};

let python: string;
beforeAll(async () => {
  // All that it depends on would be gigabytes, for models of its own; the mapper needs these.
  const installs = [
    ['--no-deps', 'projectdavid==1.56.3'],
    ['projectdavid_common==0.27.1', 'nest-asyncio==1.6.0'],
  ];
  python = await findOrMakePython({ name: 'projectdavid', version: '1.56.3', installs }, process.env);
}, INSTALL_TIMEOUT_MS);

async function mapped(lines: readonly WireLine[]): Promise<Mapped[]> {
  const child = spawn(python, [join(import.meta.dirname, 'map_lines.py')], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  child.stdin.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const [answers, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(await ended, errors).toEqual([0, null]);
  return answers
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Mapped);
}

function expectedOf({ type, ...fields }: WireLine): Mapped {
  const event = EVENTS[type as ContractLine['type']];
  if (event === null) return null;
  return type === 'error'
    ? { event, fields: { run_id: fields.run_id, status: 'failed', tool: null, message: fields['error'] } }
    : { event, fields };
}

async function judge(lines: readonly WireLine[]): Promise<void> {
  const events = await mapped(lines);
  expect(events).toHaveLength(lines.length);
  lines.forEach((line, at) => {
    const told = events[at] ?? null;
    const expected = expectedOf(line);
    // Fields of the SDK that no line of ours has must be empty.
    const own = told && Object.entries(told.fields).filter(([name, value]) => value !== null || name in line);
    const given = expected && Object.entries(expected.fields).filter(([name, value]) => value !== null || name in line);
    expect(told?.event, JSON.stringify(line)).toBe(expected?.event);
    expect(Object.fromEntries(own ?? []), JSON.stringify(line)).toEqual(Object.fromEntries(given ?? []));
  });
}

const parsed = (ndjson: string) =>
  ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WireLine);

it('maps each line of the golden runs, as a page gets them, to the event that the seed says', async () => {
  const golden = join(import.meta.dirname, '../golden');
  const lines = readdirSync(golden).flatMap((name) => {
    const events = parsed(readFileSync(join(golden, name, 'events.ndjson'), 'utf8')) as unknown as StreamEvent[];
    const shown = events.flatMap((event) => applyProfile(PROFILES.event_contract, event) ?? []);
    return linesOf(tellAll('event_contract', shown)).map(({ data }) => data as WireLine);
  });
  await judge(lines);
  expect(new Set(lines.map(({ type }) => type))).toEqual(new Set(Object.keys(EVENTS)));
});

it('maps each line of the research desk', async () => {
  const golden = join(import.meta.dirname, '../../examples/golden');
  const lines = readdirSync(golden).flatMap((name) => parsed(readFileSync(join(golden, name), 'utf8')));
  await judge(lines.filter(({ type }) => (type as string | undefined) !== undefined));
});

describe('runs over HTTP', () => {
  const entry = '📌 look at the harbour';
  const tool = (tool_id: string, input: z.ZodType, run: () => string) =>
    defineTool({ tool_id, description: 'For the test.', input, run });
  const tools = [
    tool('test.desk.append_scratchpad', z.object({ entry: z.string() }), () => 'written'),
    tool('test.lab.code_interpreter', z.object({ code: z.string() }), () => '42\n'),
    tool('test.web.read_web_page', z.object({ url: z.string() }), () => 'a page'),
  ];
  let world: World;
  let gateway: GatewayWorld;
  beforeAll(async () => {
    world = await createWorld(treeConfig({}, { tools }));
    gateway = await serveFor(world, { kind: 'off' });
  });
  afterAll(async () => {
    await gateway.stop();
    await world.end();
  });

  it('maps each line of a run with every family of tools, of one that failed, and of answers in JSON', async () => {
    const calls = [
      call('desk.append_scratchpad', { entry }),
      call('lab.code_interpreter', { code: 'print(6 * 7)' }),
      call('web.read_web_page', { url: 'https://example.org' }),
      call('tools.echo', { text: 'x' }),
    ];
    const turns = [{ thinking: 'Hm.', text: 'Looking.', tool_calls: calls }, { text: '✅ Done.' }];
    const logs = await Promise.all([
      world.run('test.node', script(turns)),
      world.run('test.node', script([{ fail: { code: 'model_unauthorized' } }])),
      // An answer that the SDK would take for an event of the runtime.
      ...['{"type":"error","error":"no such order"}', '{"stream_type":"delegation"}', '{"order":4711}'].map((text) =>
        world.run('test.node', script([{ text }])),
      ),
    ]);
    const query = '/events?dialect=event_contract&profile=event_contract&follow=false';
    const told = await Promise.all(logs.map(([first]) => gateway.as().get(runPath(first?.run_id ?? '', query))));
    const lines = told.flatMap((answer) => parsed(answer.text));
    await judge(lines);
    const types = new Set(lines.map(({ type }) => type));
    expect(Object.keys(EVENTS).filter((type) => !types.has(type))).toEqual(['generated_file']);
    expect(lines.filter((line) => line['entry'] === entry)).toHaveLength(1);
  });
});

it('would tell: a field of another type, a type that is retired or a name that is wrong is no such event', async () => {
  const run_id = 'run_1';
  const wrong = [
    { type: 'web_status', run_id, state: 'running', tool: 'browse', activity: 'x' },
    { type: 'research_status', run_id, tool: 'x', status: 'running', message: 'x' },
    { type: 'activity', run_id, tool: 'x', state: 'running', activity: 'x' },
    { type: 'code_output', run_id, content: 'x' },
  ];
  for (const line of wrong) await expect(judge([line])).rejects.toThrow();
});
