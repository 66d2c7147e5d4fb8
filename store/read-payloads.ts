/** Payloads as Temporal has them, made plain: brought back from external storage, and decrypted. */
import { StorageDriverClaim } from '@temporalio/common';
import type { Payload, PayloadCodec, StorageDriver } from '@temporalio/common';
import { PerdureError } from '../contract/errors.js';

const REFERENCE = 'temporal.api.sdk.v1.ExternalStorageReference';

interface Reference {
  driverName?: string;
  claimData?: Record<string, string>;
}

export function createPayloadReader(
  drivers: readonly StorageDriver[],
  codec: Pick<PayloadCodec, 'decode'>,
): (payloads: Payload[]) => Promise<Payload[]> {
  async function found(payload: Payload): Promise<Payload> {
    const reference = referenceIn(payload);
    const driver = drivers.find(({ name }) => name === reference?.driverName);
    if (reference === undefined || driver === undefined) return payload;
    const [stored = payload] = await driver.retrieve({}, [new StorageDriverClaim(claimIn(reference))]);
    return stored;
  }
  return async (payloads) => codec.decode(await Promise.all(payloads.map(found)));
}

/** Whoever calls the codec endpoint can send anything. */
function claimIn({ claimData }: Reference): Record<string, string> {
  return typeof claimData === 'object' && claimData !== null ? claimData : {};
}

/** As the SDK writes it: a message of Temporal's in JSON. */
function referenceIn({ metadata, data }: Payload): Reference | undefined {
  const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('utf8');
  if (text(metadata?.['encoding']) !== 'json/protobuf' || text(metadata?.['messageType']) !== REFERENCE)
    return undefined;
  try {
    return (JSON.parse(text(data)) ?? undefined) as Reference | undefined;
  } catch (error) {
    const what = 'a payload says that it refers to the external storage, and holds no reference';
    throw new PerdureError('object_damaged', what, { cause: error });
  }
}
