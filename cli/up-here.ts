/**
 * What is up on this machine. `dev` and `worker` leave a note while they run: which agents they serve, and which server
 * is theirs. A command in another folder reads it before it leaves a run to workers that do not know its agent, and one
 * in the same folder finds the server, whatever its port.
 *
 * U1  A note counts while its process lives: what a killed one left behind is nobody's.
 * U2  Notes are a convenience. Where they cannot be written or read, commands do as if there were none.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { freshPollers } from '../client/worker-polls.js';
import { processIdentity } from '../worker/server/process-identity.js';
import { userCacheDir } from '../worker/server-binary.js';
import type { ServerSettings } from './server-settings.js';

export interface Up {
  agents: string[];
  /** Where it was started. */
  folder: string;
  data_dir: string;
  /** Of the server that it brought up. */
  address?: string;
}

interface Note extends Up {
  pid: number;
  /** Tells the process from a later one with the same pid. */
  identity: string;
}

/** Until the process ends. */
export function noteUp(up: Up): void {
  const { pid } = process;
  const file = join(folder(), `${pid}.json`);
  const note: Note = { ...up, pid, identity: processIdentity(pid) ?? '' };
  try {
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    for (const { path, note: other } of readNotes()) if (other === undefined) rmSync(path, { force: true });
    writeFileSync(file, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    process.once('exit', () => rmSync(file, { force: true }));
  } catch {
    // U2: a container, for one, may have no home to write to.
  }
}

/** The settings, with the address of the server that keeps its data in this folder where nobody named another one. */
export function withServerOf(dataDir: string, settings: ServerSettings): ServerSettings {
  if (settings.given !== undefined) return settings;
  const own = notes().find((note) => note.data_dir === dataDir && note.address !== undefined);
  if (own?.address === undefined) return settings;
  return { ...settings, connection: { ...settings.connection, address: own.address } };
}

/** Those whose server is at an address. */
export function upAt(address: string): Up | undefined {
  return notes().find((note) => note.address === address);
}

/** The workers that poll a task queue; undefined where there are none, or one of them has left no note here. */
export async function workersOf(client: Client, taskQueue: string | undefined): Promise<Up[] | undefined> {
  const known = new Map(notes().map((note) => [`${note.pid}@${hostname()}`, note]));
  const living = (await freshPollers(client, taskQueue)).filter((identity) => !isDeadHere(identity));
  const workers = living.flatMap((identity) => known.get(identity) ?? []);
  return workers.length === living.length && workers.length > 0 ? workers : undefined;
}

/** The server lists a poller for a while after its end. */
function isDeadHere(identity: string): boolean {
  const [, pid, host] = /^(\d+)@(.*)$/.exec(identity) ?? [];
  return host === hostname() && processIdentity(Number(pid)) === undefined;
}

function notes(): Note[] {
  try {
    return readNotes().flatMap(({ note }) => note ?? []);
  } catch {
    // U2, and there is no folder before the first note.
    return [];
  }
}

/** Each file with its note, where that counts. */
function readNotes(): { path: string; note: Note | undefined }[] {
  return readdirSync(folder()).map((name) => {
    const path = join(folder(), name);
    const note = parseNote(path);
    return { path, note: note !== undefined && processIdentity(note.pid) === note.identity ? note : undefined };
  });
}

/** Undefined where it is gone since, or is being written. */
function parseNote(path: string): Note | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Note;
  } catch {
    return undefined;
  }
}

function folder(): string {
  return join(userCacheDir(process.env), 'perdure', 'up');
}
