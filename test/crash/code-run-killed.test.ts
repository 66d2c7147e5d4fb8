/** A worker killed in the middle of a code run: another one runs the program again, and its story is the only one. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { script } from '../support/test-agents.js';
import { ofType } from '../support/world.js';
import { linesOf, tellAll } from '../dialects/tell-all.js';
import { processesWith } from '../tools/code/processes.js';
import { createCrashWorld, eventually, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld } from './crash-world.js';

/** Ten seconds, told apart from all others. */
const SLEEP = `10.000${Math.floor(Math.random() * 1e9)}`;
/** It prints something else each time, writes a file, and goes on for a while. */
const CODE = `
import os, subprocess
print("began", os.urandom(8).hex())
open("result.csv", "w").write("a,b\\n1,2\\n")
subprocess.run(["sleep", "${SLEEP}"])
print("ended")
`;

let world: CrashWorld;
beforeAll(async () => {
  world = await createCrashWorld(inject('temporalAddress'));
});
afterAll(() => world.end());

describe('a worker killed in the middle of a code run', { timeout: TEST_TIMEOUT_MS }, () => {
  it('leaves one result, one file and no output of the dead attempt', async () => {
    const runtime = { live: 'temporal', heartbeat_timeout: '2s' } as const;
    const worker = await world.startWorker(runtime, undefined, true);
    const call = { tool: 'code.python.code_interpreter', args: { code: CODE } };
    const reader = await world.read('test.coder', script([{ tool_calls: [call] }, { text: 'Done.' }]));
    const chunks = (attempt: number) =>
      reader.events
        .flatMap((event) => (event.type === 'tool_output_chunk' && event.attempt === attempt ? [event.text] : []))
        .join('');
    await eventually(() => chunks(1).includes('began'), 'the first attempt to print');
    worker.kill('SIGKILL');
    await worker.exited;
    await eventually(() => processesWith(`sleep\0${SLEEP}`).length === 0, 'the dead worker’s sandbox to end');
    await world.startWorker(runtime, undefined, true);
    await reader.done;

    const log = await world.logOf(reader.runId);
    const results = ofType(log, 'tool_result');
    expect(results).toMatchObject([{ status: 'success', attempts: 2 }]);
    expect(ofType(log, 'tool_retry')).toHaveLength(1);
    expect(ofType(log, 'tool_progress').map(({ message }) => message)).toEqual([
      'Starting a sandbox...',
      'Executing Python script...',
    ]);
    expect(ofType(log, 'file_generated')).toMatchObject([
      { filename: 'result.csv', mime_type: 'text/csv', byte_size: 8 },
    ]);
    const result = results[0]?.content as string;
    const [first = ''] = chunks(1).split('\n');
    expect(result).toMatch(/^began [0-9a-f]{16}\nended\n\[files: result\.csv \(text\/csv, 8 bytes\)\]$/);
    expect(result).not.toContain(first);

    const output = (events: Parameters<typeof tellAll>[1]) =>
      linesOf(tellAll('event_contract', events))
        .flatMap(({ data }) => (data['type'] === 'hot_code_output' ? [data['content']] : []))
        .join('');
    expect(output(reader.events)).toBe(`${first}\n\n\n${result}`);
    expect(output(log)).toBe(result);
  });
});
