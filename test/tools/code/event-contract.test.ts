/** A code run as a reader of the event contract sees it over HTTP, live and late. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineAgent } from '../../../kit/index.js';
import { scripted, scriptFromInput } from '../../../providers/index.js';
import { codeInterpreter } from '../../../tools/index.js';
import { script } from '../../support/test-agents.js';
import { createWorld, ofType } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { runPath, serveFor } from '../../gateway/gateway-world.js';
import type { GatewayWorld } from '../../gateway/gateway-world.js';
import { jsonLines, read } from '../../gateway/stream/read-stream.js';

let world: World;
let gateway: GatewayWorld;
beforeAll(async () => {
  const agent = defineAgent({ agent_id: 'test.node', instructions: 'Follow the script.', tools: [codeInterpreter()] });
  world = await createWorld({
    models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
    agents: [agent],
  });
  gateway = await serveFor(world, { kind: 'off' });
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
});

const CODE = `import sys
print("to out")
print("to err", file=sys.stderr)
open("chart.svg", "w").write("<svg/>")
raise ValueError("wrong é")
`;
const OUTPUT = `to out
to err
Traceback (most recent call last):
  File "/tmp/main.py", line 5, in <module>
    raise ValueError("wrong é")
ValueError: wrong é
`;
const MARKS = '[exit code 1]\n[files: chart.svg (image/svg+xml, 6 bytes)]';

type Lines = Record<string, unknown>[];
const joined = (lines: Lines, type: string) =>
  lines.flatMap((line) => (line['type'] === type ? [line['content']] : [])).join('');
/** Types in order, each stretch of the same once. */
const order = (lines: Lines) => lines.map(({ type }) => type as string).filter((type, at, all) => type !== all[at - 1]);

it('tells code and output as they are written, then the file; a late reader gets the same', async () => {
  const call = { tool: 'code.python.code_interpreter', args: { code: CODE } };
  const input = script([{ tool_calls: [call] }, { text: 'I will correct it.' }]);
  // The stream is open before the run begins.
  const asked = 'dialect=event_contract&format=ndjson';
  const started = await fetch(`${gateway.url}/v1/runs?stream=true&${asked}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent_id: 'test.node', input }),
  });
  const live = jsonLines(await started.text()).filter((line) => 'type' in line);
  const runId = live[0]?.['run_id'] as string;
  const url = `${gateway.url}${runPath(runId, `/events?${asked}`)}`;
  const late = jsonLines((await read(url)).text).filter((line) => 'type' in line);
  const [file] = ofType(await world.logOf(runId), 'file_generated');

  for (const lines of [live, late]) {
    expect(joined(lines, 'hot_code')).toBe(CODE);
    expect(joined(lines, 'hot_code_output')).toBe(OUTPUT + MARKS);
    const states = lines.filter(({ type }) => type === 'code_status');
    expect(states.map(({ state, activity }) => [state, activity])).toEqual([
      ['started', 'Calling code_interpreter...'],
      ['in_progress', 'Starting a sandbox...'],
      ['in_progress', 'Executing Python script...'],
      ['success', 'code_interpreter has finished.'],
    ]);
    expect(lines.filter(({ type }) => type === 'generated_file')).toEqual([
      {
        type: 'generated_file',
        run_id: runId,
        filename: 'chart.svg',
        mime_type: 'image/svg+xml',
        file_id: file?.file_id,
        url: expect.stringMatching(/^\/v1\/files\//),
      },
    ]);
  }
  const end = ['code_status', 'content', 'status'];
  // Code before the call is made, and output before its end: these came live. What was added to the output comes last.
  expect(order(live)).toEqual([
    'hot_code',
    'tool_call_start',
    'code_status',
    'hot_code_output',
    'generated_file',
    'hot_code_output',
    ...end,
  ]);
  expect(order(late)).toEqual([
    'tool_call_start',
    'hot_code',
    'code_status',
    'generated_file',
    'hot_code_output',
    ...end,
  ]);
});
