/**
 * An artefact as it is stored: its content in pieces of one size, and a description beside it.
 *
 * A piece is the bytes as they are, with their digest in the description; or sealed with a key that is made for this
 * artefact, where there are encryption keys. Then the description is sealed as well, and says which key to the one who
 * asks for it first.
 */
import { createHash } from 'node:crypto';
import type { ArtefactInfo } from '../contract/artefacts.js';
import { PerdureError } from '../contract/errors.js';
import { unknownKey } from './encryption/key-ring.js';
import type { KeyRing, RingKey } from './encryption/key-ring.js';
import { seal, sealPart, TAG_BYTES, unseal, unsealPart } from './encryption/seal.js';
import type { Objects, Range } from './objects/objects.js';

const PIECE_BYTES = 256 * 1024;
/** Begins a description that is sealed; JSON begins in another way. */
const MAGIC = Buffer.from('PRDE1\n');
const CONTENT = 'artefact';
const DESCRIPTION = { purpose: 'artefact description' };

export interface Description extends ArtefactInfo {
  /** Absent in those from before 0.7, which are not checked. */
  piece_bytes?: number;
  /** SHA-256 of each piece. */
  digests?: string[];
  /** Of the key with which the pieces are sealed. */
  key_id?: string;
}

export function describeContent(
  info: ArtefactInfo,
  bytes: Uint8Array,
  key: RingKey | undefined,
): { description: Description; stored: () => Uint8Array } {
  if (key !== undefined) {
    const description = { ...info, piece_bytes: PIECE_BYTES, key_id: key.id };
    const salt = saltFor(info.id);
    const stored = () =>
      Buffer.concat(piecesOf(bytes).map((piece, part) => sealPart(key, salt, piece, { purpose: CONTENT, part })));
    return { description, stored };
  }
  const digests = piecesOf(bytes).map((piece) => digestOf(piece));
  return { description: { ...info, piece_bytes: PIECE_BYTES, digests }, stored: () => bytes };
}

/** Of another content there is another id, and so another salt. */
function saltFor(id: string): Buffer {
  return Buffer.from(id.slice('art_'.length), 'hex');
}

export async function openContent(
  objects: Objects,
  description: Description & { name: string },
  { start, end }: Range,
  ring: KeyRing | undefined,
): Promise<Uint8Array> {
  const { id, name, byte_size, piece_bytes, digests, key_id } = description;
  const missing = () =>
    new PerdureError('object_missing', `artefact "${id}" has a description and no content in ${objects.place}`);
  if (piece_bytes === undefined) {
    const bytes = await objects.get(name, { start, end });
    if (bytes === undefined) throw missing();
    return bytes;
  }
  const key = key_id === undefined ? undefined : await keyOf(key_id, ring);
  const [first, last] = [Math.floor(start / piece_bytes), Math.ceil(end / piece_bytes)];
  const room = key === undefined ? 0 : TAG_BYTES;
  const lengthOf = (part: number) => Math.min(piece_bytes, byte_size - part * piece_bytes) + room;
  const begin = first * (piece_bytes + room);
  const length = Array.from({ length: last - first }, (_item, n) => lengthOf(first + n)).reduce((sum, n) => sum + n, 0);
  const stored = await objects.get(name, { start: begin, end: begin + length });
  if (stored === undefined) throw missing();
  const pieces: Uint8Array[] = [];
  for (let part = first, at = 0; part < last; at += lengthOf(part), part++) {
    const piece = stored.subarray(at, at + lengthOf(part));
    if (key !== undefined) {
      const what = `artefact "${id}" in ${objects.place}`;
      pieces.push(unsealPart(key, saltFor(id), piece, { purpose: CONTENT, part }, what));
    } else {
      if (digestOf(piece) !== digests?.[part]) throw damaged(id, objects.place, `piece ${part} has another digest`);
      pieces.push(piece);
    }
  }
  const offset = start - first * piece_bytes;
  return Buffer.concat(pieces).subarray(offset, offset + (end - start));
}

export function sealDescription(description: Description, key: RingKey | undefined): Uint8Array {
  const json = Buffer.from(JSON.stringify(description));
  if (key === undefined) return json;
  return Buffer.concat([MAGIC, Buffer.from(`${key.id}\n`), seal(key, json, DESCRIPTION)]);
}

export async function openDescription(
  bytes: Uint8Array,
  id: string,
  place: string,
  ring: KeyRing | undefined,
): Promise<Description> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (!text.subarray(0, MAGIC.length).equals(MAGIC)) return parsed(text, id, place);
  const line = text.indexOf('\n', MAGIC.length);
  const key = await keyOf(text.subarray(MAGIC.length, Math.max(MAGIC.length, line)).toString('utf8'), ring);
  const what = `the description of artefact "${id}" in ${place}`;
  return parsed(unseal(key, text.subarray(line + 1), DESCRIPTION, what), id, place);
}

function parsed(json: Buffer, id: string, place: string): Description {
  let description: Partial<Description> = {};
  try {
    description = JSON.parse(json.toString('utf8')) as Description;
  } catch {
    // Said below.
  }
  const { byte_size, piece_bytes, digests, key_id } = description;
  const pieces = piece_bytes === undefined ? undefined : Math.ceil((byte_size ?? 0) / piece_bytes);
  const fits = key_id !== undefined || digests?.length === pieces;
  if (description.id !== id || typeof byte_size !== 'number' || !fits)
    throw damaged(id, place, 'its description makes no sense');
  return description as Description;
}

async function keyOf(id: string, ring: KeyRing | undefined): Promise<RingKey> {
  if (ring === undefined) throw unknownKey(id, 'there are no keys at all');
  return ring.find(id);
}

function damaged(id: string, place: string, how: string): PerdureError {
  return new PerdureError('object_damaged', `artefact "${id}" in ${place} is damaged: ${how}`);
}

function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / PIECE_BYTES);
  return Array.from({ length: count }, (_item, n) => bytes.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES));
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
