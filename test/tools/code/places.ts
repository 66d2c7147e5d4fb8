/**
 * Where the sandbox is tried: by each boundary that this machine has, as the user of the tests and, where that is
 * root, as nobody too. Whether there is a boundary is found out without our own code, so that a broken one is red.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Tool } from '../../../kit/index.js';
import type { CodeInterpreterOptions } from '../../../tools/index.js';
import { built } from '../../support/built.js';
import { createTool, runCode } from './run-code.js';
import type { Outcome } from './run-code.js';

const MAIN = built('tools/code/run-code-main.js');
const NOBODY = 65_534;

export interface PlaceRequest {
  options: CodeInterpreterOptions;
  code: string;
}

export interface Place {
  name: string;
  boundary: 'bubblewrap' | 'unshare';
  run(code: string, limits?: CodeInterpreterOptions['limits'], onLive?: (text: string) => void): Promise<Outcome>;
}

const PROOFS = {
  bubblewrap: ['bwrap', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', '--', 'true'],
  unshare: ['unshare', '--user', '--map-root-user', '--mount', '--pid', '--net', '--fork', 'true'],
} as const;

export const boundaries = (Object.keys(PROOFS) as (keyof typeof PROOFS)[]).filter((name) => succeeds(PROOFS[name]));

export const places: Place[] = boundaries.flatMap((boundary) => [
  { name: `${boundary}, as ${process.getuid?.() === 0 ? 'root' : 'this user'}`, boundary, run: asThisUser(boundary) },
  ...(process.getuid?.() === 0 && existsSync('/usr/bin/python3')
    ? [{ name: `${boundary}, as nobody`, boundary, run: asNobody(boundary) }]
    : []),
]);

const ends: (() => void)[] = [];
/** Of what the places started. */
export function closePlaces(): void {
  for (const end of ends.splice(0)) end();
}

function asThisUser(boundary: Place['boundary']): Place['run'] {
  const tools = new Map<string, Tool>();
  return (code, limits = {}, onLive = () => {}) => {
    const key = JSON.stringify(limits);
    const tool = tools.get(key) ?? createTool({ boundary, limits });
    tools.set(key, tool);
    return runCode(tool, code, { onLive });
  };
}

function asNobody(boundary: Place['boundary']): Place['run'] {
  let runner: ReturnType<typeof startRunner> | undefined;
  return (code, limits = {}, onLive = () => {}) => {
    if (runner === undefined) {
      runner = startRunner({ uid: NOBODY, gid: NOBODY });
      const { child } = runner;
      ends.push(() => child.stdin.end());
    }
    return runner.run({ options: { boundary, limits, python: '/usr/bin/python3' }, code }, onLive);
  };
}

/** A process that runs programs, to be killed or to be somebody else. */
export function startRunner(user: { uid?: number; gid?: number } = {}, within: readonly string[] = []) {
  const node = [process.execPath, MAIN];
  const [command = '', ...args] = within.length === 0 ? node : [...within, ...node];
  const child = spawn(command, args, {
    ...user,
    env: { ...process.env, HOME: '/tmp' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('exit', (code, signal) => reject(new Error(`the runner ended: ${code ?? signal}`)));
  });
  ended.catch(() => {});
  const run = (request: PlaceRequest, onLive: (text: string) => void = () => {}) =>
    Promise.race([ended, answer(request, onLive)]);
  const answer = (request: PlaceRequest, onLive: (text: string) => void) =>
    new Promise<Outcome>((resolve, reject) => {
      const take = (line: string) => {
        const { live, outcome, error } = JSON.parse(line) as { live?: string; outcome?: Outcome; error?: string };
        if (live !== undefined) return onLive(live);
        lines.off('line', take);
        if (outcome !== undefined) resolve(outcome);
        else reject(new Error(error));
      };
      lines.on('line', take);
      child.stdin.write(`${JSON.stringify(request)}\n`);
    });
  return { child, run };
}

function succeeds([command = '', ...args]: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore', timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
}
