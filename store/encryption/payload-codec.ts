/**
 * Temporal's payloads, encrypted: whatever a workflow, an activity, a signal, an update, a query, a memo, a summary or
 * the text of a failure holds. What is not encrypted passes: a run that began before there were keys goes on.
 */
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { EXTERNAL_STORAGE_THRESHOLD_BYTES } from '../../contract/sizes.js';
import { unknownKey } from './key-ring.js';
import type { KeyRing } from './key-ring.js';
import { saltOf, seal, unseal } from './seal.js';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
/** As Temporal's tools know it. */
const ENCODING = 'binary/encrypted';
const CIPHER = 'AES-256-GCM with HKDF-SHA-256, 1';
const PURPOSE = { purpose: 'payload' };
/** What is that large leaves history, under a name made of its bytes: the same is kept once. */
const KEPT_ONCE_BYTES = EXTERNAL_STORAGE_THRESHOLD_BYTES / 2;

/** Without a ring nothing is encrypted, and what is, cannot be read. */
export function createPayloadCodec(ring: KeyRing | undefined, { onlyReads = false } = {}): PayloadCodec {
  return {
    async encode(payloads) {
      if (ring === undefined || onlyReads) return payloads;
      const key = await ring.current();
      return payloads.map((payload) => {
        if (isEncrypted(payload)) return payload;
        const plain = PayloadMessage.encode(payload).finish();
        const salt = plain.length < KEPT_ONCE_BYTES ? undefined : saltOf(key, PURPOSE.purpose, plain);
        return {
          metadata: {
            encoding: Buffer.from(ENCODING),
            'encryption-cipher': Buffer.from(CIPHER),
            'encryption-key-id': Buffer.from(key.id),
          },
          data: seal(key, plain, PURPOSE, salt),
        };
      });
    },
    decode: (payloads) => Promise.all(payloads.map((payload) => opened(payload, ring))),
  };
}

async function opened(payload: Payload, ring: KeyRing | undefined): Promise<Payload> {
  if (!isEncrypted(payload)) return payload;
  const id = textOf(payload, 'encryption-key-id');
  if (ring === undefined) throw unknownKey(id, 'there are no keys at all');
  const plain = unseal(await ring.find(id), payload.data ?? new Uint8Array(0), PURPOSE, 'a payload');
  return PayloadMessage.decode(plain);
}

function isEncrypted(payload: Payload): boolean {
  return textOf(payload, 'encoding') === ENCODING;
}

function textOf({ metadata }: Payload, name: string): string {
  return Buffer.from(metadata?.[name] ?? []).toString('utf8');
}
