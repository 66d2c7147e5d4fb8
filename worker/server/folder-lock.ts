/**
 * One server per data folder: SQLite would let two of them open the file, and each would believe that it owns the
 * history shard.
 *
 * L1. The lock names two processes, the one that started the server and the server; it is held while one of them lives.
 * L2. The file appears and changes by link and rename only: a reader never sees half of it.
 * L3. A lock whose owner is dead is taken over. A server that outlived its owner is ended first.
 */
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityIsExact, processIdentity } from './process-identity.js';
import type { Report } from './report.js';

interface Holder {
  pid: number;
  identity: string;
}
interface Lock {
  id: string;
  since: string;
  owner: Holder;
  server?: Holder & { address: string };
}

/** A server whose owner died ends by itself within a second or two; after this it is killed. */
const ORPHAN_GRACE_MS = 15_000;

export interface FolderLock {
  setServer(pid: number, address: string): void;
  release(): void;
}

export async function lockFolder(folder: string, report: Report): Promise<FolderLock> {
  const file = join(folder, 'perdure.lock');
  const lock: Lock = { id: randomUUID(), since: new Date().toISOString(), owner: describe(process.pid) };
  while (!tryCreate(file, lock)) {
    const held = read(file);
    if (held !== undefined && isRunning(held.owner)) throw new Error(heldMessage(folder, held));
    if (held?.server !== undefined && isRunning(held.server)) await endOrphan(folder, held, held.server, report);
    takeOver(file, held);
    report(`took over ${file}, left behind by process ${held?.owner.pid ?? '(unreadable)'}`);
  }
  return {
    setServer(pid, address) {
      lock.server = { ...describe(pid), address };
      replace(file, lock);
    },
    release() {
      if (read(file)?.id === lock.id) unlinkSync(file);
    },
  };
}

const describe = (pid: number): Holder => ({ pid, identity: processIdentity(pid) ?? 'gone' });

const isRunning = ({ pid, identity }: Holder): boolean => processIdentity(pid) === identity;

function tryCreate(file: string, lock: Lock): boolean {
  const draft = writeDraft(file, lock);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(draft);
  }
}

const replace = (file: string, lock: Lock): void => renameSync(writeDraft(file, lock), file);

function writeDraft(file: string, lock: Lock): string {
  const draft = `${file}.${lock.id}`;
  writeFileSync(draft, `${JSON.stringify(lock, null, 2)}\n`, { mode: 0o600 });
  return draft;
}

/** Undefined when the file is gone or says nothing usable, as after a power cut. */
function read(file: string): Lock | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isLock(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isLock(value: unknown): value is Lock {
  const { id, owner, server } = (value ?? {}) as Partial<Record<keyof Lock, unknown>>;
  return typeof id === 'string' && isHolder(owner) && (server === undefined || isHolder(server));
}

function isHolder(value: unknown): value is Holder {
  const { pid, identity } = (value ?? {}) as Partial<Record<keyof Holder, unknown>>;
  // A pid below 1 would reach whole groups of processes.
  return Number.isInteger(pid) && Number(pid) > 0 && typeof identity === 'string';
}

/** Removes the lock that was found dead, and no other: two processes may find it dead at the same time. */
function takeOver(file: string, dead: Lock | undefined): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = read(aside);
  if (moved !== undefined && moved.id !== dead?.id) renameSync(aside, file);
  else unlinkSync(aside);
}

async function endOrphan(
  folder: string,
  held: Lock,
  server: NonNullable<Lock['server']>,
  report: Report,
): Promise<void> {
  if (!identityIsExact) throw new Error(heldMessage(folder, held));
  report(`waiting for the Temporal server ${server.pid} to end, which outlived process ${held.owner.pid}`);
  const signals: [NodeJS.Signals, number][] = [
    ['SIGTERM', ORPHAN_GRACE_MS],
    ['SIGKILL', ORPHAN_GRACE_MS],
  ];
  for (const [signal, grace] of signals) {
    try {
      process.kill(server.pid, signal);
    } catch {
      // It has ended since we looked, or is not ours to end: the loop tells which.
    }
    for (const end = Date.now() + grace; Date.now() < end; await sleep(50)) {
      if (!isRunning(server)) return;
    }
  }
  throw new Error(heldMessage(folder, held));
}

function heldMessage(folder: string, { owner, server, since }: Lock): string {
  const serves =
    server === undefined ? 'is starting a Temporal server on it' : `runs the Temporal server ${server.pid} on it`;
  const use = server === undefined ? '' : `use that server with --address ${server.address}, `;
  return `data folder ${folder} is in use: process ${owner.pid} ${serves}, since ${since}. One folder has one server: ${use}stop it with \`kill ${owner.pid}\`, or choose another folder with --data-dir.`;
}
