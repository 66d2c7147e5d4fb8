/** What runs on this machine, seen from outside of any sandbox. */
import { readdirSync, readFileSync } from 'node:fs';

/** Processes whose command line has this in it. */
export function processesWith(mark: string): number[] {
  return pids().filter((pid) => read(`/proc/${pid}/cmdline`).includes(mark));
}

/** Children of this process that have ended and that nobody has asked about. */
export function zombies(): number[] {
  return pids().filter((pid) => {
    const status = read(`/proc/${pid}/status`);
    return status.includes('State:\tZ') && status.includes(`PPid:\t${process.pid}\n`);
  });
}

function pids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}
