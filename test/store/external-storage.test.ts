/** The data converter as workers and clients use it: values become payloads, and large payloads become references. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
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
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXTERNAL_STORAGE_THRESHOLD_BYTES } from '../../contract/sizes.js';
import { createDataConverter } from '../../store/external-storage.js';

let folder = '';
let wire: Wire;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-payloads-'));
  wire = openWire(folder);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a payload of 1 MB', () => {
  const value = { messages: ['€'.repeat(350_000)], at: 1 };

  it('leaves a small reference behind and comes back as it was', async () => {
    const sent = await wire.send(value);
    expect(sizeOf(sent)).toBeLessThan(1_024);
    expect(await wire.receive(sent)).toEqual([value]);
  });

  it('comes back to another process that shares the folder', async () => {
    expect(await openWire(folder).receive(await wire.send(value))).toEqual([value]);
  });

  it('is kept once, however often it is sent', async () => {
    await Promise.all([wire.send(value), wire.send(value), wire.send(value)]);
    expect(await blobs()).toHaveLength(1);
  });

  it('travels beside small ones, in order', async () => {
    const sent = await wire.send('first', value, 'last');
    expect(await blobs()).toHaveLength(1);
    expect(await wire.receive(sent)).toEqual(['first', value, 'last']);
  });

  it('that is no longer in the folder is an error that names the folder and what to check', async () => {
    const sent = await wire.send(value);
    await rm(folder, { recursive: true });
    const error = await wire.receive(sent).catch((reason: unknown) => reason);
    const messages = chain(error).map(({ message }) => message);
    expect(messages.join('\n')).toMatch(
      new RegExp(`sha256 [0-9a-f]{64}.* not in the external storage at ${folder}\\..*--data-dir`),
    );
  });
});

describe('a payload below the threshold', () => {
  it('stays in history, and nothing is written', async () => {
    const value = 'x'.repeat(EXTERNAL_STORAGE_THRESHOLD_BYTES - 1_024);
    const sent = await wire.send(value);
    expect(sizeOf(sent)).toBeGreaterThan(value.length);
    expect(await blobs()).toEqual([]);
    expect(await wire.receive(sent)).toEqual([value]);
  });
});

interface Wire {
  send(...values: unknown[]): Promise<Payload[]>;
  receive(payloads: Payload[]): Promise<unknown[]>;
}

function openWire(path: string): Wire {
  const converter: LoadedDataConverter = loadDataConverter(createDataConverter(path));
  if (converter.externalStorage === undefined) throw new Error('the data converter has no external storage');
  const runner = new ExternalStorageRunner(converter.externalStorage);
  return {
    send: async (...values) => runner.store((await encodeToPayloads(converter, ...values)) ?? []),
    receive: async (payloads) => decodeArrayFromPayloads(converter, await runner.retrieve(payloads)),
  };
}

function sizeOf(payloads: Payload[]): number {
  const { Payloads } = proto.temporal.api.common.v1;
  return Payloads.encode({ payloads }).finish().length;
}

async function blobs(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** An error and its causes. */
function chain(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chain(error.cause)] : [];
}
