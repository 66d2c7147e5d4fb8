/**
 * The artefact store: what is too large for a log, and files that tools make. Types, and whose each is. No zod here.
 *
 * Every artefact belongs to a scope: the thread of the run that made it, or the root of its tree. An id is no key: it
 * names something only within its scope, and whoever reads must know that it may read that.
 */

import { digestOf } from './digest.js';

export interface ArtefactInfo {
  /** Opaque; the same content of the same scope has the same id. */
  id: string;
  byte_size: number;
  media_type: string;
}

/** Those of one scope, as tools and activities see them. Whatever takes an artefact's id takes a file's too. */
export interface Artefacts {
  put(content: string | Uint8Array, mediaType: string): Promise<ArtefactInfo>;
  info(id: string): Promise<ArtefactInfo | undefined>;
  /** Bytes from `start` up to `end` (exclusive, the whole by default). Throws `unknown_artefact`. */
  read(id: string, start?: number, end?: number): Promise<Uint8Array>;
}

export interface ArtefactStore {
  of(scope: string): Artefacts;
  /** Those of these that the first scope has are in the second one too from now on, under the same ids. */
  copy(ids: readonly string[], from: string, to: string): Promise<void>;
  /**
   * What was stored before there were scopes, up to 0.4: for whoever has made sure, by other means than the id, that it
   * may be read.
   */
  readonly unscoped: Pick<Artefacts, 'info' | 'read'>;
}

/** Of a run: its root's id is the part before the first `/`, and so is the thread's of a turn. */
export function scopeOf(runId: string): string {
  const [root = ''] = runId.split('/');
  return root;
}

/**
 * A file is more than its bytes: two that have the same are one artefact, and two files. So a file's id is the
 * artefact's, a dot, and a digest of what the file is called. Up to 0.7 it was the artefact's alone.
 */
export function fileIdOf(artefact: string, { filename, mime_type }: { filename: string; mime_type: string }): string {
  return `${artefact}.${digestOf(JSON.stringify([filename, mime_type]))}`;
}

/** The artefact of a file, or what has another id than a file's, as it is. */
export function artefactOf(id: string): string {
  return id.replace(/\.[0-9a-f]{16}$/, '');
}
