/** The packages that talk to a database are loaded when one is opened. One that is missing is named, and what to do. */
import { PerdureError } from '../../contract/errors.js';

export async function loadDriver<T>(name: 'libsql' | 'pg', load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    // The package itself, or the part of it that is made for this kind of machine.
    const missing = /(?:module|package) '([^']+)'/.exec((error as Error).message)?.[1] ?? name;
    const other = name === 'libsql' ? ', or give a Postgres database by PERDURE_DATABASE_URL' : '';
    throw new PerdureError(
      'database_unusable',
      `the package ${missing} is not installed: type "npm install ${missing}"${other}`,
      { cause: error },
    );
  }
}
