/** What a reader asks of a stream, by query and headers. Whatever cannot be meant is refused by name. */
import { PerdureError } from '../../contract/errors.js';
import { ChildStreams } from '../../contract/profiles.js';

export interface StreamRequest {
  format: 'ndjson' | 'sse';
  dialect: string;
  /** Only committed text. */
  commit: boolean;
  children: ChildStreams | undefined;
  /** A `seq`, negative from the end; or where another stream was left. */
  from: { seq: number } | { cursor: string };
  follow: boolean;
  cancelOnDisconnect: boolean;
  /** With lines of the transport's own: that something is missing, and how the stream ended. NDJSON only. */
  trailer: boolean;
  envelope: boolean;
}

export function readOptions(query: URLSearchParams, headers: Headers): StreamRequest {
  const flag = (name: string, otherwise: boolean) =>
    oneOf(query, name, ['true', 'false'], String(otherwise) as 'true' | 'false') === 'true';
  const envelope = flag('envelope', false);
  return {
    format: oneOf(query, 'format', ['ndjson', 'sse'], preferred(headers.get('accept'))),
    dialect: query.get('dialect') ?? 'perdure',
    commit: flag('commit', false),
    children: oneOf(query, 'children', ChildStreams.options, undefined),
    from: readFrom(query.get('from'), headers.get('last-event-id')),
    follow: flag('follow', true),
    cancelOnDisconnect: oneOf(query, 'on_disconnect', ['cancel', 'continue'], 'continue') === 'cancel',
    // A consumer of a dialect knows the dialect's lines. Whoever asks for envelopes knows ours.
    trailer: flag('trailer', envelope),
    envelope,
  };
}

function oneOf<T extends string, Otherwise extends T | undefined>(
  query: URLSearchParams,
  name: string,
  values: readonly T[],
  otherwise: Otherwise,
): T | Otherwise {
  const given = query.get(name);
  if (given === null) return otherwise;
  const found = values.find((value) => value === given);
  if (found !== undefined) return found;
  throw new PerdureError('invalid_request', `${name}: "${given}" is none of ${values.join(', ')}`);
}

/** A browser that reconnects sends the address of its first request, so what it heard last wins. */
function readFrom(from: string | null, lastEventId: string | null): StreamRequest['from'] {
  if (lastEventId !== null && lastEventId !== '') return { cursor: lastEventId };
  if (from === null) return { seq: 0 };
  if (!/^-?\d+$/.test(from)) return { cursor: from };
  const seq = Number(from);
  if (Number.isSafeInteger(seq)) return { seq };
  throw new PerdureError('invalid_request', `from: "${from}" is no number of an event`);
}

/** NDJSON, unless events are what the reader likes better. */
function preferred(accept: string | null): StreamRequest['format'] {
  const weights = new Map((accept ?? '').split(',').map(weigh));
  const sse = weights.get('text/event-stream') ?? 0;
  return sse > 0 && sse > (weights.get('application/x-ndjson') ?? 0) ? 'sse' : 'ndjson';
}

function weigh(range: string): [type: string, weight: number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return [type, weight === undefined ? 1 : Number(weight) || 0];
}
