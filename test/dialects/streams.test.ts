/**
 * Every dialect over random runs with random live events between, as an early reader, a late one and one that goes
 * and comes back sees them. PERDURE_SEED repeats a run, PERDURE_CASES asks for more.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../contract/live-events.js';
import type { DialectName } from '../../dialects/index.js';
import { randomRun } from './random-runs.js';
import { createReading, textsOf } from './reading.js';
import { isDurable, readAndResume } from './resume.js';
import type { Told } from './resume.js';
import { createTeller, dialectNames, linesOf, tellAll } from './tell-all.js';
import type { ToldLine } from './tell-all.js';

const CASES = Number(process.env['PERDURE_CASES'] ?? 300);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);
const parameters = { seed: SEED, numRuns: CASES };

const seedBased = dialectNames.filter((name): name is Exclude<DialectName, 'perdure'> => name !== 'perdure');

function readAll(name: DialectName, stream: readonly StreamEvent[], commit = false): Told[] {
  const teller = createTeller(name, { commit });
  return stream.map((event) => ({ event, said: teller.tell(event) }));
}

function expectTheLogsTexts(
  name: Exclude<DialectName, 'perdure'>,
  told: readonly Told[],
  stream: readonly StreamEvent[],
) {
  const reading = createReading(name);
  for (const { event, said } of told) reading.read(event, said);
  const { text, thinking } = textsOf(stream.filter(isDurable));
  expect(reading.text()).toBe(text);
  if (name !== 'task_steps') expect(reading.thinking()).toBe(thinking);
}

function keyed(lines: readonly ToldLine[]): Map<string, ToldLine> {
  const placed = lines.filter(({ place }) => place !== undefined);
  const map = new Map(placed.map((line) => [`${line.seq}.${line.place}`, line]));
  expect(map.size).toBe(placed.length);
  return map;
}

const TEXTS = ['content', 'reasoning', 'hot_code', 'hot_code_output', 'text_part_delta', 'text'];

/** A line that was partly shown live holds the rest, and is otherwise the same. */
function expectSameOrRest(line: ToldLine, whole: ToldLine | undefined): void {
  const type = String(whole?.data['type']);
  if (!TEXTS.includes(type)) return expect(JSON.stringify(line.data)).toBe(JSON.stringify(whole?.data));
  const field = type === 'text_part_delta' ? 'data' : 'content';
  const strip = (data: ToldLine['data'] | undefined) => String(data?.[field]).replace(/^\u2060/, '');
  expect(strip(whole?.data).endsWith(strip(line.data))).toBe(true);
  expect({ ...line.data, [field]: '' }).toEqual({ ...whole?.data, [field]: '' });
}

describe.each(seedBased)(`${'%s'} over random runs (PERDURE_SEED=${SEED})`, (name) => {
  it('shows an early reader the texts of the log, once void text is crossed out', () => {
    fc.assert(
      fc.property(randomRun, (stream) => expectTheLogsTexts(name, readAll(name, stream), stream)),
      parameters,
    );
  });

  it('shows a late reader the texts of the log, and nothing that is void', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        const told = readAll(name, stream.filter(isDurable));
        expectTheLogsTexts(name, told, stream);
        expect(told.flatMap(({ said }) => linesOf(said)).every(({ place }) => place !== undefined)).toBe(true);
      }),
      parameters,
    );
  });

  it('shows only committed text where that is asked for, in the bytes of a late reader', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        const texts = (lines: readonly ToldLine[]) => lines.filter(({ data }) => TEXTS.includes(String(data['type'])));
        const committed = texts(linesOf(tellAll(name, stream, { commit: true })));
        expect(committed).toEqual(texts(linesOf(tellAll(name, stream.filter(isDurable)))));
      }),
      parameters,
    );
  });

  it('loses and repeats no text when a slow reader misses any stretch of live events', () => {
    fc.assert(
      fc.property(randomRun, fc.nat(1_000), fc.nat(30), (stream, a, length) => {
        const from = a % (stream.length + 1);
        const stretch = stream.slice(from, from + length);
        const marker: StreamEvent = { type: 'live_dropped', run_id: 'run_1', dropped: stretch.length };
        const rest = [...stream.slice(0, from), marker, ...stretch.filter(isDurable), ...stream.slice(from + length)];
        expectTheLogsTexts(name, readAll(name, rest), stream);
      }),
      { ...parameters, numRuns: CASES * 2 },
    );
  });

  it('loses and repeats no text when a reader leaves at any point and comes back at any later one', () => {
    fc.assert(
      fc.property(randomRun, fc.nat(1_000), fc.nat(1_000), (stream, a, b) => {
        const left = a % (stream.length + 1);
        const back = left + (b % (stream.length - left + 1));
        expectTheLogsTexts(name, readAndResume(name, stream, left, back), stream);
      }),
      { ...parameters, numRuns: CASES * 4 },
    );
  });
});

describe.each(dialectNames)(`${'%s'}, line by line (PERDURE_SEED=${SEED})`, (name) => {
  it('gives each line of a durable event the same place and bytes, whatever was shown live before', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        const whole = keyed(linesOf(tellAll(name, stream.filter(isDurable))));
        for (const [place, line] of keyed(linesOf(tellAll(name, stream)))) expectSameOrRest(line, whole.get(place));
      }),
      parameters,
    );
  });

  it('tells the rest in the same bytes after every line of the log', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        const log = stream.filter(isDurable);
        const all = linesOf(tellAll(name, log));
        for (const [index, { seq = 0, place = 0 }] of all.entries()) {
          const teller = createTeller(name);
          const resumed = log.flatMap((event) => {
            const lines = linesOf(teller.tell(event));
            return lines.filter((line) => event.seq > seq || (event.seq === seq && (line.place ?? 0) > place));
          });
          expect(JSON.stringify(resumed)).toBe(JSON.stringify(all.slice(index + 1)));
        }
      }),
      { ...parameters, numRuns: Math.ceil(CASES / 10) },
    );
  });

  it('shows each fact exactly once to a reader that leaves and comes back', () => {
    const isFact = ({ data }: ToldLine) =>
      !TEXTS.includes(String(data['type'])) && !JSON.stringify(data).includes('is void') && !('live_id' in data);
    fc.assert(
      fc.property(randomRun, fc.nat(1_000), fc.nat(1_000), (stream, a, b) => {
        const left = a % (stream.length + 1);
        const back = left + (b % (stream.length - left + 1));
        const facts = (lines: readonly ToldLine[]) =>
          lines
            .filter(isFact)
            .map(({ data }) => JSON.stringify(data))
            .sort();
        const seen = facts(readAndResume(name, stream, left, back).flatMap(({ said }) => linesOf(said)));
        expect(seen).toEqual(facts(linesOf(tellAll(name, stream.filter(isDurable)))));
      }),
      parameters,
    );
  });
});

describe(`perdure over random runs (PERDURE_SEED=${SEED})`, () => {
  it('is the events as they are', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        expect(linesOf(tellAll('perdure', stream)).map(({ data }) => data)).toEqual(stream);
      }),
      parameters,
    );
  });

  it('gives a reader that comes back only what is missing of each attempt of a block', () => {
    fc.assert(
      fc.property(randomRun, fc.nat(1_000), (stream, a) => {
        const left = a % (stream.length + 1);
        const texts = (lines: readonly ToldLine[]) => {
          const blocks = new Map<string, string>();
          for (const { data } of lines) {
            if (!('index' in data)) continue;
            const key = `${String(data['block_id'])}#${String(data['attempt'])}`;
            blocks.set(key, (blocks.get(key) ?? '') + String(data['text']));
          }
          return blocks;
        };
        const resumed = linesOf(readAndResume('perdure', stream, left, left).flatMap(({ said }) => said));
        expect(texts(resumed)).toEqual(texts(linesOf(tellAll('perdure', stream))));
      }),
      parameters,
    );
  });
});
