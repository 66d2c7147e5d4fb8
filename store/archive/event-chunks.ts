/** A log in compressed rows: each holds the events from a `seq` on, one a line, exactly as the workflow wrote them. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { PerdureError } from '../../contract/errors.js';

/** What is read to get at one event of a long log, and held in memory while it is read. */
const CHUNK_CHARACTERS = 256 * 1_024;

const [compress, expand] = [promisify(gzip), promisify(gunzip)];

export interface EventChunk {
  first_seq: number;
  events: Uint8Array;
}

export async function toChunks(events: Iterable<string> | AsyncIterable<string>): Promise<{
  chunks: EventChunk[];
  tail: number;
}> {
  const chunks: EventChunk[] = [];
  let [lines, characters, tail]: [string[], number, number] = [[], 0, 0];
  const finish = async () => {
    if (lines.length > 0) chunks.push({ first_seq: tail - lines.length, events: await compress(lines.join('\n')) });
    [lines, characters] = [[], 0];
  };
  for await (const text of events) {
    if (text === '' || text.includes('\n')) {
      throw new PerdureError('internal', `event ${tail} of a log is not one line of JSON`);
    }
    if (characters + text.length > CHUNK_CHARACTERS) await finish();
    lines.push(text);
    characters += text.length;
    tail += 1;
  }
  await finish();
  return { chunks, tail };
}

/** `events` as a driver gives them. */
export async function fromChunk(events: Uint8Array | ArrayBuffer): Promise<string[]> {
  return (await expand(events)).toString('utf8').split('\n');
}
