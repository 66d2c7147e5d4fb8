/** The path of a script below `test/`, as it was built: such a process is up in half the time that it takes from source. */
import { join } from 'node:path';

export function built(script: string): string {
  return join(import.meta.dirname, '../../dist/test', script);
}
