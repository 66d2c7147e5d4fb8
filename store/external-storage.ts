/**
 * Temporal's external storage: payloads above the threshold leave history and are referenced by their hash. Workers and
 * clients of one namespace must share it. A payload is encrypted before it comes here, where there are keys.
 */
import { createHash } from 'node:crypto';
import { StorageDriverClaim } from '@temporalio/common';
import type { StorageDriver } from '@temporalio/common';
import proto from '@temporalio/proto';
import { PerdureError } from '../contract/errors.js';
import { createFileObjects } from './objects/file-objects.js';
import type { Objects } from './objects/objects.js';

const { Payload } = proto.temporal.api.common.v1;

/** The name is in each reference: a payload is looked for where it was stored. */
export function createDriver(kind: 'files' | 's3', objects: Objects): StorageDriver {
  const nameOf = (hash: string) => `${hash.slice(0, 2)}/${hash}`;
  return {
    name: `perdure-${kind}`,
    type: `perdure.${kind}`,
    store: (_context, payloads) =>
      Promise.all(
        payloads.map(async (payload) => {
          const bytes = Payload.encode(payload).finish();
          const hash = hashOf(bytes);
          await objects.put(nameOf(hash), bytes);
          return new StorageDriverClaim({ sha256: hash });
        }),
      ),
    retrieve: (_context, claims) =>
      Promise.all(
        claims.map(async (claim) => {
          const hash = claim.claimData['sha256'] ?? '';
          // Whoever speaks to Temporal, or to the codec endpoint, can claim anything: also a path.
          if (!/^[0-9a-f]{64}$/.test(hash))
            throw new PerdureError('object_missing', 'a claim names no payload of ours');
          const bytes = await objects.get(nameOf(hash));
          if (bytes === undefined) {
            const what = `a payload (sha256 ${hash}) is not in the external storage at ${objects.place}`;
            throw new PerdureError('object_missing', what);
          }
          const found = hashOf(bytes);
          if (found !== hash) {
            const what = `a payload (sha256 ${hash}) in the external storage at ${objects.place} is damaged: its digest is ${found}`;
            throw new PerdureError('object_damaged', what);
          }
          return Payload.decode(bytes);
        }),
      ),
  };
}

export function createFileDriver(folder: string): StorageDriver {
  return createDriver('files', createFileObjects(folder));
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
