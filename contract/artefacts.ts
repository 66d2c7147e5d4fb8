/** The artefact store as tools and activities see it. Types only. */

export interface ArtefactInfo {
  /** Opaque; the same content has the same id. */
  id: string;
  byte_size: number;
  media_type: string;
}

export interface ArtefactStore {
  put(content: string | Uint8Array, mediaType: string): Promise<ArtefactInfo>;
  info(id: string): Promise<ArtefactInfo | undefined>;
  /** Bytes from `start` up to `end` (exclusive, the whole by default). */
  read(id: string, start?: number, end?: number): Promise<Uint8Array>;
}
