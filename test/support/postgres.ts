/**
 * A real Postgres server on a free port of loopback, with a data folder of its own that goes when it stops. It does not
 * run as root, so for root it runs as nobody. Texts are compared as in English, so that what relies on the order of
 * bytes is found out.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { environmentOf, findPostgres } from './postgres-binaries.js';
import type { PostgresBinaries } from './postgres-binaries.js';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
const NOBODY = 65_534;

export interface PostgresServer {
  /** Of its first database, for its owner. */
  url: string;
  /** The file that says who it is, to those who ask for TLS. */
  certificate: string;
  stop(): Promise<void>;
}

export async function startPostgres(report: (line: string) => void): Promise<PostgresServer> {
  const found = await findPostgres(report);
  const root = process.getuid?.() === 0;
  const home = await mkdtemp(join(tmpdir(), 'perdure-postgres-'));
  try {
    const binaries = root ? await reachable(found, home) : found;
    const as = root ? { uid: NOBODY, gid: NOBODY } : {};
    const env = environmentOf(binaries);
    const [folder, passwordFile, certificate] = [join(home, 'data'), join(home, 'password'), join(home, 'server.crt')];
    const password = randomBytes(16).toString('hex');
    await mkdir(folder, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600 });
    await makeCertificate(certificate, join(home, 'server.key'));
    if (root) {
      await chmod(home, 0o711);
      await Promise.all([folder, passwordFile, join(home, 'server.key')].map((path) => chown(path, NOBODY, NOBODY)));
    }
    report(`making a Postgres server in ${home}`);
    const initdb = ['-D', folder, '-U', 'perdure', '-A', 'scram-sha-256', '--pwfile', passwordFile];
    const locale = ['-E', 'UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
    await promisify(execFile)(join(binaries.folder, 'initdb'), [...initdb, ...locale, '--no-sync'], { ...as, env });
    const port = await freePort();
    // Nothing here has to outlive the machine.
    const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'listen_addresses=127.0.0.1'];
    const tls = ['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${join(home, 'server.key')}`];
    const options = [...settings, ...tls].flatMap((setting) => ['-c', setting]);
    const args = ['-D', folder, '-p', String(port), '-k', folder, ...options];
    const child = spawn(join(binaries.folder, 'postgres'), args, { ...as, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (said = (said + text).slice(-4_000)));
    let ended = false;
    const exited = new Promise<void>((resolve) => {
      const end = () => {
        ended = true;
        resolve();
      };
      child.once('error', end);
      child.once('exit', end);
    });
    const kill = () => void child.kill('SIGQUIT');
    process.once('exit', kill);
    const url = `postgresql://perdure:${password}@127.0.0.1:${port}/postgres`;
    const stop = async () => {
      process.off('exit', kill);
      // Fast: open sessions are ended.
      child.kill('SIGINT');
      const hurry = setTimeout(kill, STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(hurry);
      await rm(home, { recursive: true, force: true });
    };
    try {
      await untilReady(url, () => ended);
    } catch (error) {
      await stop();
      throw new Error(`Postgres did not start. It said:\n${said}`, { cause: error });
    }
    report(`Postgres is up on 127.0.0.1:${port}`);
    return { url, certificate, stop };
  } catch (error) {
    await rm(home, { recursive: true, force: true });
    throw error;
  }
}

/** Undefined where it cannot be had, and nobody insists: what is missing is said. */
export async function startPostgresIfPossible(report: (line: string) => void): Promise<PostgresServer | undefined> {
  try {
    return await startPostgres(report);
  } catch (error) {
    if (process.env['PERDURE_TEST_POSTGRES'] === 'required') throw error;
    report(`${error instanceof Error ? error.message : String(error)}\nThe tests that need Postgres are skipped.`);
    return undefined;
  }
}

/** A new, empty database; its address. */
export async function createDatabase(serverUrl: string): Promise<string> {
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client(serverUrl);
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The cache of root is closed to others. */
async function reachable(binaries: PostgresBinaries, home: string): Promise<PostgresBinaries> {
  if (binaries.unpacked === undefined) return binaries;
  const copy = join(home, 'programs');
  await cp(binaries.unpacked, copy, { recursive: true, verbatimSymlinks: true });
  const moved = (path: string) => path.replace(binaries.unpacked ?? '', copy);
  return { folder: moved(binaries.folder), libraries: moved(binaries.libraries ?? '') };
}

async function makeCertificate(certificate: string, key: string): Promise<void> {
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = ['-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-days', '2'];
  await promisify(execFile)('openssl', ['req', ...made, ...subject, '-keyout', key, '-out', certificate]);
  await Promise.all([chmod(key, 0o600), chmod(certificate, 0o644)]);
}

async function untilReady(url: string, hasEnded: () => boolean): Promise<void> {
  for (const deadline = Date.now() + START_TIMEOUT_MS; ;) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      return;
    } catch (error) {
      if (hasEnded() || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
