/**
 * Temporal's external storage on files: payloads above the threshold leave history and are referenced by their
 * hash. Workers and clients of one namespace must share the folder.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ExternalStorage, StorageDriverClaim } from '@temporalio/common';
import type { DataConverter, StorageDriver } from '@temporalio/common';
import proto from '@temporalio/proto';
import { EXTERNAL_STORAGE_THRESHOLD_BYTES } from '../contract/sizes.js';
import { exists, writeWhole } from './file-artefacts.js';

const { Payload } = proto.temporal.api.common.v1;

function createFileDriver(folder: string): StorageDriver {
  const pathOf = (hash: string) => join(folder, hash.slice(0, 2), hash);
  return {
    name: 'perdure-files',
    type: 'perdure.files',
    store: (_context, payloads) =>
      Promise.all(
        payloads.map(async (payload) => {
          const bytes = Payload.encode(payload).finish();
          const hash = createHash('sha256').update(bytes).digest('hex');
          const path = pathOf(hash);
          if (!(await exists(path))) await writeWhole(path, bytes);
          return new StorageDriverClaim({ sha256: hash });
        }),
      ),
    retrieve: (_context, claims) =>
      Promise.all(
        claims.map(async (claim) => {
          const hash = claim.claimData['sha256'] ?? '';
          const bytes = await readFile(pathOf(hash)).catch((error: unknown) => {
            throw new Error(
              `A payload (sha256 ${hash}) is not in the external storage at ${folder}. Workers and clients of one namespace must share this folder: check --data-dir.`,
              { cause: error },
            );
          });
          return Payload.decode(bytes);
        }),
      ),
  };
}

export function createDataConverter(folder: string): DataConverter {
  return {
    externalStorage: new ExternalStorage({
      drivers: [createFileDriver(folder)],
      payloadSizeThreshold: EXTERNAL_STORAGE_THRESHOLD_BYTES,
    }),
  };
}
