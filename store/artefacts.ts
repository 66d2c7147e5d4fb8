/**
 * The artefact store, on files or in a bucket.
 *
 * F1  A scope has a folder of its own: what is not in it is not there, whatever its id.
 * F2  An id is made of scope and content, so writing the same thing twice (a retried activity) leaves one copy; and of
 *     a secret, so that nobody can tell by an id what a content that they guess is.
 * F3  The description is written last: what is described is whole.
 * F4  What is read was checked, piece by piece: by the digests of its description, or by its encryption.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { artefactOf } from '../contract/artefacts.js';
import type { ArtefactInfo, Artefacts, ArtefactStore } from '../contract/artefacts.js';
import { PerdureError } from '../contract/errors.js';
import { describeContent, openContent, sealDescription, openDescription } from './artefact-content.js';
import type { Description } from './artefact-content.js';
import { saltOf } from './encryption/seal.js';
import type { KeyRing } from './encryption/key-ring.js';
import type { Objects } from './objects/objects.js';

const ID_PATTERN = /^art_[0-9a-f]{64}$/;
/** Up to 0.4, by content alone, and without a scope. */
const UNSCOPED_PATTERN = /^sha256_[0-9a-f]{64}$/;

/** Where there are no encryption keys: made by the first who needs it, and kept with what it names. */
const SECRET_NAME = 'ids.key';
const SECRET_BYTES = 32;

export function createArtefacts(objects: Objects, ring?: KeyRing): ArtefactStore {
  let known: Promise<Uint8Array> | undefined;
  const secret = () => {
    known ??= findSecret(objects).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };

  const nameIn = (scope: string, id: string) => {
    const place = createHash('sha256').update(scope).digest('hex');
    return `scopes/${place.slice(0, 2)}/${place}/${id}`;
  };

  function readerOf(nameOf: (id: string) => string | undefined): Pick<Artefacts, 'info' | 'read'> {
    async function describe(given: string): Promise<(Description & { name: string }) | undefined> {
      const id = artefactOf(given);
      const name = nameOf(id);
      if (name === undefined) return undefined;
      const bytes = await objects.get(`${name}.json`);
      if (bytes === undefined) return undefined;
      return { ...(await openDescription(bytes, id, objects.place, ring)), name };
    }
    return {
      async info(id) {
        const found = await describe(id);
        return found === undefined ? undefined : infoOf(found);
      },
      async read(id, from = 0, to = Number.POSITIVE_INFINITY) {
        const found = await describe(id);
        if (found === undefined) throw unknownArtefact(id);
        const [start, end] = [Math.max(0, from), Math.min(to, found.byte_size)];
        if (end <= start) return new Uint8Array(0);
        return openContent(objects, found, { start, end }, ring);
      },
    };
  }

  return {
    of(scope) {
      return {
        async put(content, mediaType) {
          const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
          const key = await ring?.current();
          const hash =
            key === undefined
              ? createHmac('sha256', await secret())
                  .update(`${scope}\n`)
                  .update(bytes)
                  .digest()
              : saltOf(key, 'artefact', `${scope}\n`, bytes);
          const info: ArtefactInfo = {
            id: `art_${hash.toString('hex')}`,
            byte_size: bytes.byteLength,
            media_type: mediaType,
          };
          const name = nameIn(scope, info.id);
          const [kept, described] = await Promise.all([objects.has(name), objects.has(`${name}.json`)]);
          const { description, stored } = describeContent(info, bytes, key);
          if (!kept) await objects.put(name, stored());
          if (!described) await objects.put(`${name}.json`, sealDescription(description, key));
          return info;
        },
        ...readerOf((id) => (ID_PATTERN.test(id) ? nameIn(scope, id) : undefined)),
      };
    },
    async copy(ids, from, to) {
      for (const id of ids.map(artefactOf).filter((each) => ID_PATTERN.test(each))) {
        // F3.
        for (const end of ['', '.json']) await objects.copy(nameIn(from, id) + end, nameIn(to, id) + end);
      }
    },
    unscoped: readerOf((id) => {
      const hash = id.slice('sha256_'.length);
      return UNSCOPED_PATTERN.test(id) ? `${hash.slice(0, 2)}/${hash}` : undefined;
    }),
  };
}

/** Of several who begin at once one is first, and all use what it made. */
async function findSecret(objects: Objects): Promise<Uint8Array> {
  const found = await objects.get(SECRET_NAME);
  if (found === undefined) await objects.put(SECRET_NAME, randomBytes(SECRET_BYTES));
  const secret = found ?? (await objects.get(SECRET_NAME));
  if (secret?.byteLength === SECRET_BYTES) return secret;
  const what = `${SECRET_NAME} in ${objects.place} is no secret of ${SECRET_BYTES} bytes`;
  throw new PerdureError('object_damaged', `${what}: delete it, and it is made anew`);
}

function infoOf({ id, byte_size, media_type }: ArtefactInfo): ArtefactInfo {
  return { id, byte_size, media_type };
}

export function unknownArtefact(id: string): PerdureError {
  return new PerdureError('unknown_artefact', `there is no artefact "${id}" here`);
}
