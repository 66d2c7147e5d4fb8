/** The artefact store on files. */
import type { ArtefactStore } from '../contract/artefacts.js';
import { createArtefacts } from './artefacts.js';
import { createFileObjects } from './objects/file-objects.js';

export function createFileArtefacts(folder: string): ArtefactStore {
  return createArtefacts(createFileObjects(folder));
}
