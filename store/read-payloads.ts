/** Payloads as Temporal has them, made plain: brought back from external storage, and decrypted. */
import { StorageDriverClaim } from '@temporalio/common';
import type { Payload, PayloadCodec, StorageDriver } from '@temporalio/common';

const REFERENCE = 'temporal.api.sdk.v1.ExternalStorageReference';

interface Reference {
  driverName?: string;
  claimData?: Record<string, string>;
}

export function createPayloadReader(
  drivers: readonly StorageDriver[],
  codec: PayloadCodec,
): (payloads: Payload[]) => Promise<Payload[]> {
  async function found(payload: Payload): Promise<Payload> {
    const reference = referenceIn(payload);
    const driver = drivers.find(({ name }) => name === reference?.driverName);
    if (reference === undefined || driver === undefined) return payload;
    const [stored = payload] = await driver.retrieve({}, [new StorageDriverClaim(reference.claimData ?? {})]);
    return stored;
  }
  return async (payloads) => codec.decode(await Promise.all(payloads.map(found)));
}

/** As the SDK writes it: a message of Temporal's in JSON. */
function referenceIn({ metadata, data }: Payload): Reference | undefined {
  const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('utf8');
  if (text(metadata?.['encoding']) !== 'json/protobuf' || text(metadata?.['messageType']) !== REFERENCE)
    return undefined;
  return JSON.parse(text(data)) as Reference;
}
