/** Which version of Perdure this is. */
import { readFileSync } from 'node:fs';

/** Of the package above the compiled rooms; one folder nearer where the sources are run as they are. */
export function ownVersion(): string {
  for (const path of ['../../package.json', '../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Record<
        string,
        string
      >;
      if (name === 'perdure' && version !== undefined) return version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return 'unknown';
}
