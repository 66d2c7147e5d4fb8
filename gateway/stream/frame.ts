/** Lines as bytes on the wire: NDJSON or server-sent events. */
import type {
  StreamEnd,
  StreamEnvelope,
  StreamWarning,
  ThreadStreamEnd,
  TurnEnd,
} from '../../contract/stream-lines.js';
import type { LineData } from '../../dialects/dialect.js';
import type { StreamRequest } from './read-options.js';

export interface ToldLine {
  data: LineData;
  /** Made only where the format shows it. */
  cursor: () => string;
  identity: () => Omit<StreamEnvelope, 'cursor' | 'data'>;
}

export interface Frame {
  readonly contentType: string;
  readonly heartbeat: string;
  line(line: ToldLine): string;
  /** What the transport says outside the dialect. */
  aside(said: StreamWarning | StreamEnd | TurnEnd | ThreadStreamEnd): string;
}

export function createFrame({ format, envelope, trailer }: StreamRequest): Frame {
  const body = envelope ? enveloped : ({ data }: ToldLine) => textOf(data);
  if (format === 'ndjson') {
    return {
      contentType: 'application/x-ndjson',
      heartbeat: '\n',
      line: (line) => `${body(line)}\n`,
      aside: (said) => (trailer ? `${JSON.stringify(said)}\n` : ''),
    };
  }
  return {
    contentType: 'text/event-stream',
    heartbeat: ':\n\n',
    line: (line) => `id: ${line.cursor()}\ndata: ${body(line)}\n\n`,
    aside(said) {
      // The end of a turn is a place to come back to: whoever has heard of it is not told again.
      const id = said.perdure === 'turn_ended' ? `id: ${said.cursor}\n` : '';
      return `${id}event: perdure.${said.perdure}\ndata: ${JSON.stringify(said)}\n\n`;
    },
  };
}

function enveloped({ data, cursor, identity }: ToldLine): string {
  const head = JSON.stringify({ cursor: cursor(), ...identity() });
  return `${head.slice(0, -1)},"data":${textOf(data)}}`;
}

/** Where a dialect passes an event on as it is, all readers of a run share it, and its text. */
const texts = new WeakMap<LineData, string>();

function textOf(data: LineData): string {
  const known = texts.get(data);
  if (known !== undefined) return known;
  const text = JSON.stringify(data);
  texts.set(data, text);
  return text;
}
