/**
 * Lists, searches and counts over a hundred thousand archived runs, on both databases, beside the same questions in
 * plain SQL through the bare driver.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Sqlite from 'libsql';
import { sql } from 'kysely';
import pg from 'pg';
import { createArchive } from '../store/archive/archive.js';
import type { Archive } from '../store/archive/archive.js';
import { openDatabase } from '../store/database/open-database.js';
import type { Database } from '../store/database/open-database.js';
import { QUESTIONS } from './archive-questions.js';
import { madeUpRun } from './made-up-runs.js';
import { median, table } from './stage.js';

const RUNS = Number(process.env['PERDURE_BENCH_ARCHIVED_RUNS'] ?? 100_000);
const AT_ONCE = 8;
const ROUNDS = 21;

type Plain = (text: string, parameters: unknown[]) => Promise<unknown[]>;

export async function archive(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-archive-'));
  const postgres = await startPostgres();
  try {
    const sections = [await measure(folder), await measure(folder, postgres.url)];
    return sections.join('\n\n');
  } finally {
    postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(dataDir: string, url?: string): Promise<string> {
  const database = await openDatabase({ dataDir, url, report: console.error });
  const plain = url === undefined ? plainSqlite(join(dataDir, 'perdure.db')) : await plainPostgres(url);
  try {
    const kept = createArchive(database);
    const seconds = await fill(database, kept);
    const rows: (string | number)[][] = [];
    for (const { about, ours, theirs } of QUESTIONS) {
      const [mine, other]: [number[], number[]] = [[], []];
      let found = 0;
      for (let round = -3; round < ROUNDS; round++) {
        const a = await timedOnce(() => ours(kept, round + 3, RUNS));
        const { text, parameters } = theirs(database.dialect, round + 3, RUNS);
        const b = await timedOnce(() => plain.ask(text, parameters));
        if (a.found !== b.found) throw new Error(`${about}: we found ${a.found}, plain SQL ${b.found}`);
        // The first ones warm up.
        if (round < 0) continue;
        found += a.found / ROUNDS;
        mine.push(a.ms);
        other.push(b.ms);
      }
      const [m, o] = [median(mine), median(other)];
      rows.push([about, found.toFixed(0), m.toFixed(2), o.toFixed(2), (m / o).toFixed(1)]);
    }
    const name = database.dialect === 'sqlite' ? 'SQLite' : 'Postgres 15';
    return [
      table([`${name}: what is asked`, 'found', 'ms, median', 'ms, plain SQL', 'ratio'], rows),
      '',
      `${RUNS} runs, ${await size(database)} MB; put one by one, ${AT_ONCE} at once, ${(RUNS / seconds).toFixed(0)} a second without waiting for the disk.`,
    ].join('\n');
  } finally {
    await plain.close();
    await database.close();
  }
}

async function fill(database: Database, kept: Archive): Promise<number> {
  // What is measured here is not the disk. The server of the tests does not wait for it either.
  if (database.dialect === 'sqlite') await sql.raw('pragma synchronous = off').execute(database.query);
  const begun = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < RUNS) {
        if (next % 10_000 === 0) console.error(`${database.dialect}: ${next} runs`);
        const { run, events } = madeUpRun(next++);
        await kept.putRun(run, events);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1_000;
  await sql.raw('analyze').execute(database.query);
  return seconds;
}

async function timedOnce(work: () => Promise<readonly unknown[]>): Promise<{ ms: number; found: number }> {
  const begun = performance.now();
  const { length } = await work();
  return { ms: performance.now() - begun, found: length };
}

async function size({ dialect, place, query }: Database): Promise<string> {
  if (dialect === 'sqlite') return ((await stat(place)).size / 1e6).toFixed(0);
  const { rows } = await sql<{ size: number }>`select pg_database_size(current_database()) as size`.execute(query);
  return ((rows[0]?.size ?? 0) / 1e6).toFixed(0);
}

function plainSqlite(path: string): { ask: Plain; close(): Promise<void> } {
  const file = new Sqlite(path);
  file.pragma('cache_size = -32768');
  return {
    ask: (text, parameters) => Promise.resolve(file.prepare(text).all(parameters)),
    close: () => Promise.resolve(file.close()).then(() => {}),
  };
}

async function plainPostgres(url: string): Promise<{ ask: Plain; close(): Promise<void> }> {
  const client = new pg.Client(url);
  await client.connect();
  return {
    ask: async (text, parameters) => {
      let n = 0;
      return (
        await client.query<object>(
          text.replaceAll('?', () => `$${++n}`),
          parameters,
        )
      ).rows;
    },
    close: () => client.end(),
  };
}

/** That of the tests, as a process. */
async function startPostgres(): Promise<{ url: string; stop(): void }> {
  const main = fileURLToPath(new URL('../test/support/postgres-main.js', import.meta.url));
  const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] });
  const early = once(child, 'exit').then(() => Promise.reject(new Error('there is no Postgres to measure')));
  const [url] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), early])) as [string];
  early.catch(() => {});
  return { url, stop: () => child.stdin.end() };
}
