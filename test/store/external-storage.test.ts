/** The data converter as workers and clients use it: values become payloads, and large payloads become references. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadedDataConverter, Payload } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  encodeToPayloads,
  ExternalStorageRunner,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow/data-converter-helpers.js';
import proto from '@temporalio/proto';
import { StorageDriverClaim } from '@temporalio/common';
import { beforeEach, describe, expect, it } from 'vitest';
import { EXTERNAL_STORAGE_THRESHOLD_BYTES } from '../../contract/sizes.js';
import { createFileDriver } from '../../store/external-storage.js';
import type { Storage } from '../../store/open-storage.js';
import { newKey, onAllStorages } from './storages.js';
import type { Place } from './storages.js';

const { Payload: PayloadMessage, Payloads } = proto.temporal.api.common.v1;

onAllStorages('payloads', (fresh) => {
  let place: Place;
  let storage: Storage;
  let wire: Wire;

  beforeEach(async () => {
    place = await fresh();
    storage = await place.open();
    wire = openWire(storage);
  });

  describe('of 1 MB', () => {
    const value = { messages: ['€'.repeat(350_000)], at: 1 };

    it('leave a small reference behind and come back as they were', async () => {
      const sent = await wire.send(value);
      expect(sizeOf(sent)).toBeLessThan(1_024);
      expect(await wire.receive(sent)).toEqual([value]);
    });

    it('come back to another process that shares the storage', async () => {
      expect(await openWire(await place.open()).receive(await wire.send(value))).toEqual([value]);
    });

    it('are kept once, however often they are sent', async () => {
      const others = await Promise.all([place.open(), place.open()]);
      await Promise.all([storage, ...others].map((each) => openWire(each).send(value)));
      expect(await place.names()).toHaveLength(1);
    });

    it('travel beside small ones, in order', async () => {
      const sent = await wire.send('first', value, 'last');
      expect(await place.names()).toHaveLength(1);
      expect(await wire.receive(sent)).toEqual(['first', value, 'last']);
    });

    it('that are gone are an error that names them, the place and what to check', async () => {
      const sent = await wire.send(value);
      for (const name of await place.names()) await place.remove(name);
      const error = await wire.receive(sent).catch((reason: unknown) => reason);
      const where = place.options.s3 === undefined ? place.options.dataDir : `s3://${place.options.s3.bucket}`;
      expect(chain(error)).toContainEqual(
        expect.objectContaining({
          code: 'object_missing',
          message: expect.stringMatching(
            new RegExp(`sha256 [0-9a-f]{64}.* not in the external storage at ${where}/.*--data-dir, PERDURE_S3_BUCKET`),
          ),
        }),
      );
    });

    it('that were changed are an error that names them', async () => {
      const sent = await wire.send(value);
      const [name = ''] = await place.names();
      const bytes = await place.bytesOf(name);
      bytes[500_000] = (bytes[500_000] ?? 0) ^ 1;
      await place.overwrite(name, bytes);
      const error = await wire.receive(sent).catch((reason: unknown) => reason);
      expect(chain(error)).toContainEqual(
        expect.objectContaining({
          code: 'object_damaged',
          message: expect.stringMatching(/sha256 [0-9a-f]{64}\).* is damaged/),
        }),
      );
    });

    it('are made plain for those who may read them, from wherever they are', async () => {
      const sent = await wire.send('small', value);
      const [small, large] = await storage.payloads.decode(sent);
      expect(textOf(small)).toBe('"small"');
      expect(JSON.parse(textOf(large))).toEqual(value);
      expect(await wire.receive(await storage.payloads.encode([small ?? {}, large ?? {}]))).toEqual(['small', value]);
    });
  });

  describe('below the threshold', () => {
    it('stay in history, and nothing is written', async () => {
      const value = 'x'.repeat(EXTERNAL_STORAGE_THRESHOLD_BYTES - 1_024);
      const sent = await wire.send(value);
      expect(sizeOf(sent)).toBeGreaterThan(value.length);
      expect(await place.names()).toEqual([]);
      expect(await wire.receive(sent)).toEqual([value]);
    });
  });

  describe('and keys', () => {
    const canary = `canary ${'in a large text '.repeat(20_000)}`;

    it('tell what is stored from what can be read', async () => {
      const sent = await wire.send('a canary', canary);
      const stored = await Promise.all((await place.names()).map(place.bytesOf));
      const inHistory = sent.map((payload) => Buffer.from(PayloadMessage.encode(payload).finish()));
      for (const bytes of [...stored, ...inHistory.slice(0, 1)])
        expect(bytes.includes('canary')).toBe(!place.encrypted);
      expect(stored).toHaveLength(1);
    });

    it('are needed: one that is missing or wrong is named', async () => {
      const sent = await wire.send('sealed');
      const others = [
        { keys: undefined, code: 'encryption_key_unknown' },
        { keys: [newKey('other')], code: 'encryption_key_unknown' },
        { keys: [newKey('first')], code: 'decryption_failed' },
      ];
      for (const { keys, code } of others) {
        const reading = openWire(await place.open({ keys })).receive(sent);
        if (!place.encrypted) expect(await reading).toEqual(['sealed']);
        else {
          const error = await reading.catch((reason: unknown) => reason);
          expect(chain(error)).toContainEqual(
            expect.objectContaining({ code, message: expect.stringContaining('"first"') }),
          );
        }
      }
    });

    it('are changed, or begin, or have a function for them, without losing what is there', async () => {
      const sent = await wire.send('before', canary);
      const before = (place.options.keys ?? []) as { id: string; key: string }[];
      const keys = [newKey('second'), ...before];
      const rotated = openWire(await place.open({ keys: () => Promise.resolve(keys) }));
      expect(await rotated.receive(sent)).toEqual(['before', canary]);
      const after = await rotated.send('after');
      expect(await rotated.receive(after)).toEqual(['after']);
      const error = await wire.receive(after).catch((reason: unknown) => reason);
      expect(chain(error)).toContainEqual(expect.objectContaining({ code: 'encryption_key_unknown' }));
    });
  });
});

interface Wire {
  send(...values: unknown[]): Promise<Payload[]>;
  receive(payloads: Payload[]): Promise<unknown[]>;
}

function openWire({ dataConverter }: Storage): Wire {
  const converter: LoadedDataConverter = loadDataConverter(dataConverter);
  if (converter.externalStorage === undefined) throw new Error('the data converter has no external storage');
  const runner = new ExternalStorageRunner(converter.externalStorage);
  return {
    send: async (...values) => runner.store((await encodeToPayloads(converter, ...values)) ?? []),
    receive: async (payloads) => decodeArrayFromPayloads(converter, await runner.retrieve(payloads)),
  };
}

function sizeOf(payloads: Payload[]): number {
  return Payloads.encode({ payloads }).finish().length;
}

function textOf(payload: Payload | undefined): string {
  return Buffer.from(payload?.data ?? []).toString('utf8');
}

/** An error and its causes. */
function chain(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chain(error.cause)] : [];
}

it('a claim that is a path names no payload, and no file is read for it', async () => {
  const driver = createFileDriver(join(tmpdir(), 'perdure-no-such-folder'));
  for (const sha256 of ['../../etc/hostname', '/dev/zero', '', 'A'.repeat(64)]) {
    const reading = driver.retrieve({} as never, [new StorageDriverClaim({ sha256 })]);
    await expect(reading).rejects.toMatchObject({
      code: 'object_missing',
      message: expect.stringContaining('names no payload') as string,
    });
  }
});
