/**
 * Where a deployment keeps what is too large for Temporal, and how it is encrypted: the one place that makes the data
 * converter and the artefact store. Workers, gateways and clients of a namespace open it alike.
 *
 * Files are in the data folder. With a bucket, new things go there, and what is in the folder is still found.
 */
import { join } from 'node:path';
import { ExternalStorage } from '@temporalio/common';
import type { DataConverter, Payload } from '@temporalio/common';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { KeySource } from '../contract/encryption-keys.js';
import { EXTERNAL_STORAGE_THRESHOLD_BYTES } from '../contract/sizes.js';
import { createArtefacts } from './artefacts.js';
import { createKeyRing } from './encryption/key-ring.js';
import { createPayloadCodec } from './encryption/payload-codec.js';
import { createDriver } from './external-storage.js';
import { createFileObjects } from './objects/file-objects.js';
import { withOlder } from './objects/objects.js';
import { openS3 } from './objects/s3-objects.js';
import type { S3Settings } from './objects/s3-objects.js';
import { createPayloadReader } from './read-payloads.js';

export interface StorageSettings {
  /** Undefined: files. */
  s3?: S3Settings | undefined;
  /** Undefined: nothing is encrypted. */
  keys?: KeySource | undefined;
  /** What this process says is as plain as without keys: for one that only reads, and need not have them before. */
  only_reads?: boolean | undefined;
}

export interface StorageOptions extends StorageSettings {
  dataDir: string;
  /** Told what is worth knowing about the bucket. */
  report?: (line: string) => void;
}

export interface Storage {
  dataConverter: DataConverter;
  artefacts: ArtefactStore;
  /** From payloads as Temporal has them to plain ones, and back. */
  payloads: { decode(payloads: Payload[]): Promise<Payload[]>; encode(payloads: Payload[]): Promise<Payload[]> };
  encrypts: boolean;
  /** Throws what keeps it from being used: the bucket, or the keys. */
  probe(): Promise<void>;
  close(): void;
}

export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { dataDir, s3, keys, only_reads = false, report } = options;
  const ring = keys === undefined ? undefined : createKeyRing(keys);
  const bucket = s3 === undefined ? undefined : await openS3(s3, report);
  const [files, artefactFiles] = [
    createFileObjects(join(dataDir, 'payloads')),
    createFileObjects(join(dataDir, 'artefacts')),
  ];
  const fileDriver = createDriver('files', files);
  const driver = bucket === undefined ? fileDriver : createDriver('s3', bucket.within('payloads'));
  const drivers = bucket === undefined ? [fileDriver] : [driver, fileDriver];
  const codec = createPayloadCodec(ring, { onlyReads: only_reads });
  return {
    dataConverter: {
      payloadCodecs: [codec],
      externalStorage: new ExternalStorage({
        drivers,
        driverSelector: () => driver,
        payloadSizeThreshold: EXTERNAL_STORAGE_THRESHOLD_BYTES,
      }),
    },
    artefacts: createArtefacts(
      bucket === undefined ? artefactFiles : withOlder(bucket.within('artefacts'), artefactFiles),
      ring,
    ),
    payloads: { encode: (payloads) => codec.encode(payloads), decode: createPayloadReader(drivers, codec) },
    encrypts: ring !== undefined,
    async probe() {
      await ring?.current();
      await bucket?.probe();
    },
    close: () => bucket?.close(),
  };
}
