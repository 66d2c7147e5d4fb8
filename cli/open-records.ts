/** The database of the application in this folder: the one that the environment names, else a file in its data folder. */
import { resolve } from 'node:path';
import { openRecords } from '../store/records.js';
import type { Records } from '../store/records.js';
import type { KeysFileFlags } from './gateway-flags.js';

export async function openRecordsFor(
  dataDir: string,
  flags: KeysFileFlags,
  env: NodeJS.ProcessEnv,
  report: (line: string) => void,
): Promise<Records> {
  const url = env['PERDURE_DATABASE_URL'];
  return openRecords({
    dataDir,
    url: url === '' ? undefined : url,
    keysFile: oldKeysFile(flags, env),
    report,
  });
}

/** Of keys from before there was a database. */
export function oldKeysFile(flags: KeysFileFlags, env: NodeJS.ProcessEnv): string | undefined {
  const named = flags.apiKeysFile ?? env['PERDURE_API_KEYS_FILE'];
  return named === undefined || named === '' ? undefined : resolve(named);
}
