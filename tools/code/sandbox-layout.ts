/** What both boundaries build: the same folders, whichever tool builds them. */
import { stat } from 'node:fs/promises';
import type { Python } from './find-python.js';
import { systemPaths } from './system-paths.js';

export const WORK_FOLDER = '/sandbox';
export const HOST_NAME = 'sandbox';
/** In the sandbox of a worker that is not root; nobody's number. */
export const INNER_UID = 65_534;
/** Entries of a file system: each costs the kernel memory, however small the file. */
export const MOST_INODES = 20_000;

/** Something of the machine, at the same place inside, read-only. */
export interface BoundPath {
  path: string;
  isFolder: boolean;
}

export interface Layout {
  /** With these alone, programs of the machine run. */
  system: BoundPath[];
  /** What the interpreter needs besides; none is within another, or within one of the system's. */
  own: BoundPath[];
  links: { path: string; target: string }[];
  /** The folders that a program can write to, each in memory, with its size. */
  writable: { path: string; bytes: number }[];
  /** The worker is root: it builds the sandbox as root, and the supervisor becomes a user of its own. */
  isRoot: boolean;
}

export interface Launcher {
  command: string;
  args: string[];
}

/** How a boundary starts the supervisor. */
export type Launch = (layout: Layout, supervisor: readonly string[]) => Launcher;

export async function layOut(python: Python, fileBytes: number): Promise<Layout> {
  const { bound, links } = await systemPaths();
  const own = python.paths.filter((path) => {
    const others = [...bound, ...python.paths.filter((other) => other !== path)];
    return !others.some((folder) => path === folder || path.startsWith(`${folder}/`));
  });
  return {
    system: await Promise.all(bound.map(facts)),
    own: await Promise.all(own.map(facts)),
    links,
    writable: [
      { path: WORK_FOLDER, bytes: fileBytes },
      { path: '/tmp', bytes: fileBytes },
      // For the semaphores of multiprocessing.
      { path: '/dev/shm', bytes: 1024 * 1024 },
    ],
    isRoot: process.getuid?.() === 0,
  };
}

async function facts(path: string): Promise<BoundPath> {
  return { path, isFolder: (await stat(path)).isDirectory() };
}
