/**
 * A message of a server, out of its text. What is meant as an answer and is none fails the request that it answers: to
 * the SDK it is no message at all, and the request would wait for another until its time is up.
 */
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

/** Of our own, in no range that the protocol or servers use. */
export const MALFORMED_ANSWER = -39_001;

/** Throws where it is neither a message nor meant as an answer. */
export function readMessage(text: string): JSONRPCMessage {
  const json: unknown = JSON.parse(text);
  const parsed = JSONRPCMessageSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const id = answeredBy(json);
  if (id === undefined) throw parsed.error;
  return malformed(id);
}

/** The request that an answer which is none was meant for. */
export function malformedAnswer(text: string): RequestId | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return JSONRPCMessageSchema.safeParse(json).success ? undefined : answeredBy(json);
  } catch {
    return undefined;
  }
}

export function malformed(id: RequestId): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: MALFORMED_ANSWER, message: 'the answer is none of the protocol' } };
}

function answeredBy(json: unknown): RequestId | undefined {
  const { id, method } = (json ?? {}) as { id?: unknown; method?: unknown };
  return method === undefined && (typeof id === 'string' || typeof id === 'number') ? id : undefined;
}
