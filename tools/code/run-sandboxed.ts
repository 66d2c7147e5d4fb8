/**
 * One program in one sandbox, from start to end.
 *
 * S1  The sandbox ends with the call: by itself, by its limits, by the abort, or because the worker is gone (its
 *     standard input closes). Nothing of it is on any disk.
 * S2  What it sends is bounded here, whatever happens inside.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { resourceLimits } from './code-limits.js';
import type { CodeLimits } from './code-limits.js';
import type { Python } from './find-python.js';
import { createFrameReader } from './read-frames.js';
import type { SandboxEnd, SandboxFile } from './read-frames.js';
import { MOST_INODES, WORK_FOLDER } from './sandbox-layout.js';
import type { Launcher } from './sandbox-layout.js';
import { SUPERVISOR } from './supervisor.js';

/** A boundary that has been tried, ready to run programs. */
export interface Sandbox {
  boundary: 'bubblewrap' | 'unshare' | 'none';
  python: Python;
  limits: CodeLimits;
  filter: Uint8Array;
  launch(supervisor: readonly string[]): Launcher;
  /** A user of its own for each program, where the worker is root. */
  uid(): Promise<number | null>;
}

export interface SandboxRun {
  end: SandboxEnd;
  /** As much as is kept. */
  output: string;
  files: SandboxFile[];
}

/** Beyond the program's own time: to start, to read files, to stop. */
export const SLACK_MS = 15_000;
/** The supervisor ends everything when its input closes; this is for one that cannot. */
const KILL_AFTER_MS = 2_000;
const KEPT_COMPLAINT = 4_096;
/** Where a launcher is looked for; nothing of the worker's own environment is handed on. */
const LAUNCHERS = '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin';

export async function runSandboxed(
  sandbox: Sandbox,
  code: string,
  { signal, onOutput = () => {} }: { signal: AbortSignal; onOutput?: (text: string) => void },
): Promise<SandboxRun> {
  signal.throwIfAborted();
  const request = JSON.stringify(await requestOf(sandbox, code));
  const { command, args } = sandbox.launch([sandbox.python.executable, '-I', '-c', SUPERVISOR]);
  // A session of its own: what is typed at the worker's terminal does not reach it, nor can it type there.
  const child = spawn(command, args, { env: { PATH: LAUNCHERS }, cwd: '/', detached: true, stdio: 'pipe' });
  const timeout = AbortSignal.timeout(sandbox.limits.wall_seconds * 1_000 + SLACK_MS);
  const stop = AbortSignal.any([signal, timeout]);
  const release = endWith(child, stop);
  try {
    child.stdin.on('error', () => {}).write(`${request}\n`);
    const run = await readRun(child, sandbox.limits, onOutput);
    signal.throwIfAborted();
    return run;
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted)
      throw new Error('the sandbox did not end when it should have, and was killed', { cause: error });
    throw error;
  } finally {
    release();
  }
}

async function requestOf({ boundary, python, limits, filter, uid }: Sandbox, code: string) {
  const isBound = boundary !== 'none';
  return {
    code,
    boundary: isBound,
    uid: await uid(),
    python: python.executable,
    env: {
      PATH: `${dirname(python.executable)}:/usr/bin:/bin`,
      USER: 'sandbox',
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      // A module that it writes and imports leaves nothing else behind.
      PYTHONDONTWRITEBYTECODE: '1',
      MPLBACKEND: 'Agg',
      // Each thread of these takes memory of its own.
      OMP_NUM_THREADS: '1',
      OPENBLAS_NUM_THREADS: '1',
    },
    rlimits: resourceLimits(limits, isBound),
    filter: Buffer.from(filter).toString('base64'),
    wall_seconds: limits.wall_seconds,
    memory_bytes: limits.memory_bytes,
    output_bytes: limits.output_bytes,
    files: limits.files,
    file_bytes: limits.file_bytes,
    folders: isBound ? [WORK_FOLDER, '/tmp', '/dev/shm'] : [],
    inodes: MOST_INODES,
  };
}

/** Closing its input is enough, and lets the launcher clean up after itself; a kill is for when it is not. */
function endWith(child: ChildProcessWithoutNullStreams, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const isOver = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  const kill = () => {
    if (!isOver()) process.kill(-(child.pid as number), 'SIGKILL');
  };
  const end = () => {
    child.stdin.destroy();
    if (!isOver()) timer ??= setTimeout(kill, KILL_AFTER_MS);
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  child.once('close', () => clearTimeout(timer));
  return () => {
    signal.removeEventListener('abort', end);
    end();
  };
}

function readRun(
  child: ChildProcessWithoutNullStreams,
  limits: CodeLimits,
  onOutput: (text: string) => void,
): Promise<SandboxRun> {
  return new Promise((resolve, reject) => {
    const decoder = new StringDecoder('utf8');
    const files: SandboxFile[] = [];
    let output = '';
    let complaint = '';
    let end: SandboxEnd | undefined;
    let broken: unknown;
    const tell = (text: string) => {
      if (text === '') return;
      output += text;
      onOutput(text);
    };
    const read = createFrameReader(limits, {
      output: (bytes) => tell(decoder.write(bytes)),
      file: (file) => files.push(file),
      end: (given) => (end = given),
    });
    child.once('error', reject);
    child.stderr.on('data', (piece: Buffer) => {
      complaint = (complaint + piece.toString('utf8')).slice(0, KEPT_COMPLAINT);
    });
    child.stdout.on('data', (piece: Buffer) => {
      if (broken !== undefined) return;
      try {
        read(piece);
      } catch (error) {
        broken = error;
        child.stdin.destroy();
      }
    });
    child.once('close', (code, killed) => {
      tell(decoder.end());
      const how = `${killed ?? `code ${code}`}: ${complaint.trim() || 'it said nothing'}`;
      if (broken !== undefined) reject(new Error('what the sandbox sent cannot be read', { cause: broken }));
      else if (end === undefined) reject(new Error(`the sandbox ended early (${how})`));
      else resolve({ end, output, files });
    });
  });
}
