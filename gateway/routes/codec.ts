/**
 * `/v1/codec/decode` and `/encode`: Temporal's remote codec, for its UI and its command. Whoever may call it reads the
 * payloads of all orgs, so it takes a scope that no role has by itself.
 */
import { z } from 'zod';
import { isPerdureError, PerdureError } from '../../contract/errors.js';
import type { ErrorCode } from '../../contract/errors.js';
import { defineRoute } from '../route.js';

const Bytes = z.base64();
const WirePayload = z.looseObject({
  metadata: z.record(z.string(), Bytes).optional(),
  data: Bytes.optional(),
});
const WirePayloads = z.looseObject({ payloads: z.array(WirePayload) });
type WirePayload = z.infer<typeof WirePayload>;

/** About what was sent, and so the caller's to know. */
const OF_THE_PAYLOAD: readonly ErrorCode[] = [
  'encryption_key_unknown',
  'decryption_failed',
  'object_missing',
  'object_damaged',
];

function codecRoute(way: 'decode' | 'encode', summary: string) {
  return defineRoute({
    operation: `${way}Payloads`,
    method: 'POST',
    path: `/v1/codec/${way}`,
    summary,
    access: 'codec',
    body: WirePayloads,
    headers: { 'x-namespace': 'As Temporal’s UI sends it; not looked at.' },
    replies: { 200: { description: 'As many payloads, in the same order.', schema: WirePayloads } },
    errors: ['forbidden'],
    async handle({ tools, body }) {
      const given = body.payloads.map(fromWire);
      const made = await tools.payloads[way](given).catch((error: unknown) => {
        if (!isPerdureError(error) || !OF_THE_PAYLOAD.includes(error.code)) throw error;
        throw new PerdureError('invalid_request', error.message, { cause: error });
      });
      return Response.json({ payloads: made.map(toWire) });
    },
  });
}

export const decodePayloads = codecRoute('decode', 'Payloads of Temporal in plain text: for its UI and its command.');
export const encodePayloads = codecRoute('encode', 'Plain payloads as workers take them, encrypted.');

interface Payload {
  metadata?: Record<string, Uint8Array> | null;
  data?: Uint8Array | null;
}

function fromWire({ metadata = {}, data = '' }: WirePayload): Payload {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
  return {
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, bytes(value)])),
    data: bytes(data),
  };
}

function toWire({ metadata, data }: Payload): WirePayload {
  const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('base64');
  return {
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, text(value)])),
    data: text(data),
  };
}
