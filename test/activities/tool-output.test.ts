/** Results of several parts: their texts have one limit together, and what is trimmed is kept whole under one id. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toToolOutput } from '../../activities/tool-output.js';
import type { Artefacts } from '../../contract/artefacts.js';
import type { ImagePart, TextPart } from '../../contract/messages.js';
import { INLINE_LIMIT_BYTES, TRIMMED_CHARS } from '../../contract/sizes.js';
import { createFileArtefacts } from '../../store/file-artefacts.js';

let folder: string;
let artefacts: Artefacts;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-outputs-'));
  artefacts = createFileArtefacts(folder).of('run-1');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const text = (value: string): TextPart => ({ type: 'text', text: value });
const image: ImagePart = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
const stored = async (id = '') => Buffer.from(await artefacts.read(id)).toString('utf8');

it('long texts of a result are one output, which can be read whole', async () => {
  const [first, second] = ['a'.repeat(70_000), 'b'.repeat(80_000)];
  const output = await toToolOutput([text(first), image, text(second)], artefacts);
  expect(output.trimmed).toBe(true);
  expect(output.content).toEqual([text(expect.stringContaining(output.output_ref?.id ?? '') as string), image]);
  expect(await stored(output.output_ref?.id)).toBe(`${first}\n\n${second}`);
});

it('texts that are only together too long are trimmed too', async () => {
  const parts = Array.from({ length: 20 }, (_item, n) => text(`${n}`.padEnd(60 * 1024, '.')));
  const output = await toToolOutput(parts, artefacts);
  expect(JSON.stringify(output.content).length).toBeLessThan(TRIMMED_CHARS + 1_000);
  expect(await stored(output.output_ref?.id)).toBe(parts.map((part) => part.text).join('\n\n'));
});

it('texts within the limit stay where they are among the images', async () => {
  const half = text('x'.repeat(INLINE_LIMIT_BYTES / 2));
  expect(await toToolOutput([half, image, half], artefacts)).toEqual({ content: [half, image, half] });
});
