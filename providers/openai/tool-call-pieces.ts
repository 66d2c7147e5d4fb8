/**
 * Which call a piece of one belongs to. OpenAI numbers the calls and names each once, in its first piece; compatible
 * servers leave the index out, give every call index 0, repeat id and name in each piece, or give two calls one id.
 */
import type { ToolCallDelta } from './chunk.js';

interface Call {
  index: number;
  id: string;
  name: string;
  arguments: string;
}

export interface CallPiece {
  /** Ours: counts the calls of the message from 0. */
  index: number;
  /** Set when this piece brought the name or the id of the call. */
  name?: string;
  id?: string;
  arguments_delta: string;
}

export function createCallSorter(): (delta: ToolCallDelta) => CallPiece {
  const calls: Call[] = [];
  const byVendorIndex = new Map<number, Call>();
  const byId = new Map<string, Call>();

  function candidate(delta: ToolCallDelta): Call | undefined {
    if (typeof delta.index === 'number') return byVendorIndex.get(delta.index);
    return delta.id ? byId.get(delta.id) : calls.at(-1);
  }

  return (delta) => {
    const id = delta.id ?? '';
    const name = delta.function?.name ?? '';
    const text = delta.function?.arguments ?? '';
    const found = candidate(delta);
    const call =
      found === undefined || startsAnother(found, { id, name, text })
        ? { index: calls.length, id: '', name: '', arguments: '' }
        : found;
    if (call !== found) calls.push(call);
    if (typeof delta.index === 'number') byVendorIndex.set(delta.index, call);
    if (id !== '') byId.set(id, call);
    const news = {
      ...(call.name === '' && name !== '' ? { name } : {}),
      ...(call.id === '' && id !== '' ? { id } : {}),
    };
    Object.assign(call, news);
    call.arguments += text;
    return { index: call.index, ...news, arguments_delta: text };
  };
}

/** Only a piece with a name can: some servers make up a new id for every piece of one call. */
function startsAnother(call: Call, piece: { id: string; name: string; text: string }): boolean {
  if (piece.name === '' || call.name === '') return false;
  if (piece.name !== call.name || (piece.id !== '' && call.id !== '' && piece.id !== call.id)) return true;
  return piece.text !== '' && isWhole(call.arguments);
}

function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
