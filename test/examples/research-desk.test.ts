/**
 * The example of docs/tools.md, from its question to its report: real search, real pages, real Python; the models are
 * scripted. Its stream in the event contract is golden: `golden/research-desk.ndjson`, and one file per researcher.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import config from '../../examples/research-desk/perdure.config.js';
import { runPath, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld } from '../gateway/gateway-world.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const run_id = `desk-${randomUUID()}`;
const researchers = [`${run_id}/call_2_1`, `${run_id}/call_2_2`];

let world: World;
let gateway: GatewayWorld;
let log: DurableEvent[];

beforeAll(async () => {
  world = await createWorld(config.options);
  gateway = await serveFor(world, { kind: 'off' });
  log = await world.run('desk.supervisor', 'How did the two ferry lines recover since 2020?', { run_id });
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
});

describe('the research desk', () => {
  it('reports with a citation for each figure', () => {
    const end = log.at(-1);
    expect(end).toMatchObject({ type: 'run_completed', status: 'success' });
    const answer = ofType(log, 'summary_final')[0]?.text ?? '';
    expect(answer).toContain('**Northern Line**: passengers grew by 123.5% from 2020 to 2025. [1]');
    expect(answer).toContain('**Southern Line**: passengers grew by 72.8% from 2020 to 2025. [2]');
    expect(answer).toContain('[1] https://almanac.example/northern-line.html');
  });

  it('has the notes of both researchers when they are back', () => {
    const [notes] = ofType(log, 'tool_result').filter((event) => event.name.endsWith('.read_scratchpad'));
    expect(notes?.content).toMatch(/📌 Plan.*✅ \w+ Line.*✅ \w+ Line/s);
  });

  it('draws one chart, which the gateway serves', async () => {
    const [file] = ofType(log, 'file_generated');
    expect(ofType(log, 'file_generated')).toHaveLength(1);
    expect(file).toMatchObject({ filename: 'passengers.svg', mime_type: 'image/svg+xml' });
    const answer = await gateway.as().get(runPath(run_id, `/artefacts/${file?.file_id}`));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('image/svg+xml');
    expect(answer.text).toContain('<polyline points=');
    expect(Buffer.byteLength(answer.text)).toBe(file?.byte_size);
  });

  it.each([
    ['research-desk', run_id],
    ['northern-line', researchers[0] ?? ''],
    ['southern-line', researchers[1] ?? ''],
  ])('the stream of %s in the event contract is the golden one', async (name, id) => {
    const { text } = await gateway.as().get(runPath(id, '/events?dialect=event_contract&trailer=true'));
    const golden = readFileSync(join(import.meta.dirname, `golden/${name}.ndjson`), 'utf8');
    expect(withoutChance(text)).toBe(golden);
  });
});

/**
 * The run's id is new each time, and so are addresses of files; and of the two researchers either may begin or end first, so their lines, and their
 * notes where these are read, are sorted.
 */
function withoutChance(text: string): string {
  const lines = text
    .replaceAll(encodeURIComponent(run_id), 'RUN')
    .replaceAll(/\bart_[0-9a-f]{64}/g, 'ARTEFACT')
    .replaceAll(/expires=\d+&signature=[\w-]{43}/g, 'expires=EXPIRES&signature=SIGNATURE')
    .split('\n')
    .map(withSortedNotes);
  const isDelegation = (line: string) => line.includes('"tool":"delegate_research_task"');
  const from = lines.findIndex(isDelegation);
  const to = lines.findLastIndex(isDelegation) + 1;
  if (from !== -1) lines.splice(from, to - from, ...lines.slice(from, to).toSorted());
  return lines.join('\n');
}

function withSortedNotes(line: string): string {
  const event = (line.startsWith('{') ? JSON.parse(line) : {}) as { operation?: string; entry?: string | null };
  if (event.operation !== 'read' || event.entry == null) return line;
  const notes = event.entry.split('\n').map((note) => note.replace(/ \[\d+\]$/, ''));
  return JSON.stringify({ ...event, entry: notes.toSorted().join('\n') });
}
