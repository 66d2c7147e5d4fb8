/**
 * Golden streams: `golden/<case>/events.ndjson` is what a reader gets of a run, `<dialect>.ndjson` what each dialect
 * says of it, with the place of each line and the warnings of the transport, `routed.ndjson` what the contract's
 * consumer makes of its dialect. A new case is a new folder with an `events.ndjson`. To write the rest anew after a
 * change on purpose: `WRITE_GOLDEN_DIALECTS=1 npx vitest run test/dialects/golden.test.ts`, then read the difference.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AgentEvent } from '../../contract/agent-events.js';
import { DurableEvent } from '../../contract/events.js';
import { LiveEvent, StreamMarker } from '../../contract/live-events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { TaskStepChunk } from '../../contract/task-steps.js';
import { createRouter } from '../../dialects/index.js';
import { dialectNames, linesOf, tellAll } from './tell-all.js';

const folder = join(import.meta.dirname, 'golden');
const cases = readdirSync(folder).toSorted();

function eventsOf(name: string): StreamEvent[] {
  const text = readFileSync(join(folder, name, 'events.ndjson'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StreamEvent);
}

function expectLocked(path: string, values: readonly unknown[]): void {
  const text = values.map((value) => `${JSON.stringify(value)}\n`).join('');
  if (process.env['WRITE_GOLDEN_DIALECTS'] !== undefined) writeFileSync(path, text);
  expect(existsSync(path), `${path} is missing`).toBe(true);
  expect(text).toBe(readFileSync(path, 'utf8'));
}

describe.each(cases)('the stream %s', (name) => {
  const events = eventsOf(name);

  it('holds events that the contract knows', () => {
    for (const event of events) {
      const known = [DurableEvent, LiveEvent, StreamMarker].find((schema) => schema.safeParse(event).success);
      expect(known?.parse(event), JSON.stringify(event)).toEqual(event);
    }
  });

  it.each(dialectNames)('is told in %s byte for byte as it is locked', (dialect) => {
    expectLocked(join(folder, name, `${dialect}.ndjson`), tellAll(dialect, events));
  });

  it('is routed by the consumer of the event contract as it is locked, also byte by byte', () => {
    const wire = linesOf(tellAll('event_contract', events)).map(({ data }) => `${JSON.stringify(data)}\n`);
    const router = createRouter();
    const routed = [...wire.flatMap((line) => router.push(line)), ...router.end()];
    expectLocked(join(folder, name, 'routed.ndjson'), routed);
    const again = createRouter();
    const bytes = new TextEncoder().encode(wire.join('\r\n'));
    const byBytes = [...bytes].flatMap((byte) => again.push(Uint8Array.of(byte)));
    expect([...byBytes, ...again.end()]).toEqual(routed);
  });

  it('is told in shapes that the contract has', () => {
    for (const { data } of linesOf(tellAll('agent_events', events))) expect(AgentEvent.parse(data)).toEqual(data);
    for (const { data } of linesOf(tellAll('task_steps', events))) expect(TaskStepChunk.parse(data)).toEqual(data);
  });
});
