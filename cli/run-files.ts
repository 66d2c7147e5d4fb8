/** Files that a run makes: where they are, and copies of them in a folder of the caller's. */
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import type { HttpClient } from '../client/http/index.js';
import { artefactOf, scopeOf } from '../contract/artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { EventOf } from '../contract/events.js';
import { messageOf } from './command-error.js';

type GeneratedFile = EventOf<'file_generated'>;

export interface RunFiles {
  read(file: GeneratedFile): Promise<Uint8Array>;
  /** For people, and for other commands. */
  where(file: GeneratedFile): string;
}

export function storedFiles(artefacts: ArtefactStore): RunFiles {
  return {
    read: ({ run_id, file_id }) => artefacts.of(scopeOf(run_id)).read(file_id),
    where: ({ file_id }) => `in the artefact store as ${artefactOf(file_id)}; --save-files DIR keeps a copy`,
  };
}

export function gatewayFiles({ runs }: HttpClient): RunFiles {
  return {
    read: ({ run_id, file_id }) => runs.readArtefact(run_id, file_id),
    where: ({ run_id, file_id }) => `at ${runs.artefactUrl(run_id, file_id)}`,
  };
}

/** In a sentence: where the file is, or why it could not be kept. A run goes on either way. */
export async function keepFile(files: RunFiles, file: GeneratedFile, folder: string | undefined): Promise<string> {
  if (folder === undefined) return `${file.filename} is ${files.where(file)}`;
  try {
    const content = await files.read(file);
    await mkdir(folder, { recursive: true });
    return `saved ${await writeNew(folder, basename(file.filename), content)}`;
  } catch (error) {
    return `${file.filename} could not be saved: ${messageOf(error)}`;
  }
}

/** Under another name where the name is taken: nothing is written over. */
async function writeNew(folder: string, name: string, content: Uint8Array): Promise<string> {
  const extension = extname(name);
  const stem = basename(name, extension);
  for (let copy = 1; ; copy++) {
    const path = join(folder, copy === 1 ? name : `${stem}-${copy}${extension}`);
    try {
      await writeFile(path, content, { flag: 'wx' });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
