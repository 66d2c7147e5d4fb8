import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A text that tells this process from a later one with the same pid, or undefined when no such process runs.
 * A bare pid will not do: in a container the same small numbers come back after every restart, and a lock held by
 * "pid 1" would then be held for ever, by ourselves.
 */
export function processIdentity(pid: number): string | undefined {
  if (process.platform === 'linux') return linuxIdentity(pid);
  if (!isAlive(pid)) return undefined;
  return identityIsExact ? psIdentity(pid) : `pid ${pid}`;
}

/** Whether the identity is sure enough to end the process by it. */
export const identityIsExact = process.platform !== 'win32';

function linuxIdentity(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name in parentheses may hold spaces; state is the first field after it, the start time the twentieth.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie holds neither files nor ports.
  return fields[0] === 'Z' ? undefined : `started at tick ${fields[19]}`;
}

function psIdentity(pid: number): string | undefined {
  try {
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 });
    return `started ${started.trim()}`;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
