/** Folders for what the runs of a test leave: they stay until the histories on the server were replayed. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

export function createDataDir(name: string): Promise<string> {
  return mkdtemp(join(inject('dataRoot'), `${name}-`));
}
