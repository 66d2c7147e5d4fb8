/** A user that no other process has: the kernel counts processes per user. Only root can become one. */
import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';

const HIGHEST = 2 ** 31 - 1;

export async function freshUid(): Promise<number> {
  // In a container there may be few: each line is a first number, whose it is outside, and how many follow.
  const map = await readFile('/proc/self/uid_map', 'utf8');
  const ends = map
    .trim()
    .split('\n')
    .map((line) => {
      const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
      return first + count;
    });
  const end = Math.min(Math.max(...ends), HIGHEST);
  if (end < 1_000) throw new Error('there are no users besides root that a sandbox could run as');
  return randomInt(Math.floor(end / 2), end - 1);
}
