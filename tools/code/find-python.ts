/** The interpreter behind a command's name, and the folders that it needs to run. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';

export interface Python {
  /** No link and no shim: what can be run where only `paths` are. */
  executable: string;
  version: string;
  /** Folders and files of its own, beside those of the system. */
  paths: string[];
}

const ASK = `
import json, os, sys
print(json.dumps(dict(
    executable=sys.executable,
    version="%d.%d.%d" % sys.version_info[:3],
    prefixes=[sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
    real=os.path.realpath(sys.executable),
)))`;
const Answer = z.object({
  executable: z.string().startsWith('/'),
  version: z.string(),
  prefixes: z.array(z.string()),
  real: z.string().startsWith('/'),
});
const PARTS = ['bin', 'lib', 'lib64', 'pyvenv.cfg'];
const ASKING_LIMIT_MS = 30_000;

export async function findPython(command: string): Promise<Python> {
  const { stdout } = await promisify(execFile)(command, ['-I', '-c', ASK], { timeout: ASKING_LIMIT_MS });
  const { executable, version, prefixes, real } = Answer.parse(JSON.parse(stdout));
  const parts = [...new Set(prefixes)].flatMap((prefix) => PARTS.map((part) => `${prefix}/${part}`));
  // The executable of a virtual environment is a link to a real one, which may be a link again.
  return { executable, version, paths: [...new Set([...parts, real])].filter((path) => existsSync(path)) };
}
