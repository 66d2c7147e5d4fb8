/** A package that is not there: Perdure's own code in a folder without it. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-without-'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const room of ['store', 'contract']) await cp(join(root, 'dist', room), join(folder, room), { recursive: true });
  for (const name of ['kysely', 'zod']) await place(name, symlink);
  // Copied, so that it looks for its other half here.
  for (const name of ['libsql', '@neon-rs/load', 'detect-libc']) {
    await place(name, (from, to) => cp(from, to, { recursive: true }));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function place(name: string, put: (from: string, to: string) => Promise<void>): Promise<void> {
  const to = join(folder, 'node_modules', name);
  await mkdir(dirname(to), { recursive: true });
  await put(join(root, 'node_modules', name), to);
}

/** What a process says that opens a database there. */
function open(url?: string): Promise<string> {
  const script = `
    const { openDatabase } = await import('./store/database/open-database.js');
    await openDatabase({ dataDir: 'data', url: ${JSON.stringify(url)}, report() {} }).catch((error) => console.log(error.message));`;
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--input-type=module', '-e', script], { cwd: folder }, (error, stdout, stderr) => {
      if (error || stderr !== '') reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
  });
}

it('pg is named, with what to type, and is not missed where Postgres is not asked for', async () => {
  expect(await open('postgresql://ann@127.0.0.1/x')).toMatch(
    /^the package pg is not installed: type "npm install pg"\. /,
  );
});

it('libsql is named too, and the part of it that is made for this kind of machine', async () => {
  const other = ', or give a Postgres database by PERDURE_DATABASE_URL';
  expect(await open()).toMatch(
    new RegExp(`^the package @libsql/[\\w-]+ is not installed: type "npm install @libsql/[\\w-]+"${other}`),
  );
  await rm(join(folder, 'node_modules/libsql'), { recursive: true });
  expect(await open()).toMatch(new RegExp(`^the package libsql is not installed: type "npm install libsql"${other}`));
});
