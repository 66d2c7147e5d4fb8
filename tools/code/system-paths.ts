/**
 * What of the machine is in a sandbox, read-only: programs and libraries, and neither `/usr/src` nor `/usr/local`,
 * where applications and their secrets like to be.
 */
import { lstat, readlink } from 'node:fs/promises';

const PATHS = [
  '/usr/bin',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/libx32',
  '/usr/share/zoneinfo',
  '/usr/share/fonts',
  '/bin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  // Where Debian's libraries are links to, and where the loader looks them up.
  '/etc/alternatives',
  '/etc/ld.so.cache',
];

export const DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'];

export interface SystemPaths {
  bound: string[];
  /** On most machines `/bin` and `/lib` are links into `/usr`. */
  links: { path: string; target: string }[];
}

export async function systemPaths(): Promise<SystemPaths> {
  const found: SystemPaths = { bound: [], links: [] };
  for (const path of PATHS) {
    const facts = await lstat(path).catch(() => undefined);
    if (facts?.isSymbolicLink()) found.links.push({ path, target: await readlink(path) });
    else if (facts !== undefined) found.bound.push(path);
  }
  return found;
}
