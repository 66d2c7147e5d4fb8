/** The frames of a stack: the application's own, told from those of Perdure, of libraries and of Node. */
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Frame {
  /** The function, where the stack names it. */
  name: string;
  /** With line and column; from the current folder where it is below it. */
  place: string;
  isOwn: boolean;
}

const ownFolder = fileURLToPath(new URL('..', import.meta.url));
const ROOMS = /^(contract|dialects|workflows|kit|providers|live|store|tools|activities|client|gateway|worker|cli)\//;
const FRAME = /^ +at (?:(.*?) \()?(?:file:\/\/)?(\/[^\s()?]+?|node:[\w/]+)(?:\?[^\s():]*)?(:\d+:\d+)?\)?$/gm;

export function framesOf(stack: string): Frame[] {
  return [...stack.matchAll(FRAME)].map(([, name = '', path = '', position = '']) => ({
    name: name === 'new' ? '' : name,
    place: `${fromHere(path)}${position}`,
    isOwn: isOwn(path),
  }));
}

function isOwn(path: string): boolean {
  if (path.startsWith('node:') || path.includes('/node_modules/')) return false;
  return !(path.startsWith(ownFolder) && ROOMS.test(path.slice(ownFolder.length)));
}

function fromHere(path: string): string {
  if (path.startsWith('node:')) return path;
  const below = relative(process.cwd(), path);
  return below.startsWith('..') ? path : below;
}
