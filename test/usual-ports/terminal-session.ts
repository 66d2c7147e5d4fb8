/** Commands one after another as in one terminal: each in a pseudo terminal, in the folder where the last one ended. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

export interface Session {
  /** Gives all that was shown; rejects where the command fails or takes too long. */
  type(command: string, answers?: readonly Answer[]): Promise<string>;
  /** In a terminal of its own, until the session ends: resolves when it has shown what is waited for. */
  keep(command: string, until: RegExp): Promise<void>;
  end(): Promise<void>;
}

/** What is typed, once, when this has been shown since the answer before. */
export type Answer = readonly [shown: RegExp, typed: string];

/** A build on a machine that has other things to do: whatever takes longer hangs. */
const LIMIT_MS = 300_000;
const STOP_MS = 20_000;
const SHOWN_OF_FAILURE = 3_000;

interface Running {
  shown(): string;
  write(text: string): void;
  kill(signal: NodeJS.Signals): void;
  onShown(look: () => void): void;
  ended: Promise<number>;
}

/** The end of it: a terminal is drawn again and again. */
function lastOf(running: Running): string {
  return running.shown().slice(-SHOWN_OF_FAILURE);
}

/** `scratch` is for the session's own files. */
export function openSession(folder: string, scratch: string, env: NodeJS.ProcessEnv): Session {
  const first = folder;
  let kept: { running: Running; command: string } | undefined;
  let count = 0;

  function start(command: string, cwd: string): Running & { endedIn(): string } {
    count += 1;
    const [script, place] = [join(scratch, `command-${count}.sh`), join(scratch, `place-${count}`)];
    // Wide, so that nothing is looked for across a break of lines.
    const lines = ['stty cols 200 rows 50', command, 'status=$?', `pwd > '${place}'`, 'exit $status'];
    writeFileSync(script, `${lines.join('\n')}\n`);
    // `script` makes the pseudo terminal, and ends as the command did.
    const child = spawn('script', ['-qfec', `bash '${script}'`, '/dev/null'], { cwd, env, detached: true });
    let shown = '';
    const lookers = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        shown += text;
        lookers.forEach((look) => look());
      });
    }
    const ended = new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? -1));
    });
    return {
      shown: () => stripVTControlCharacters(shown),
      write: (text) => void child.stdin.write(text),
      kill: (signal) => void process.kill(-(child.pid ?? 0), signal),
      onShown: (look) => void lookers.add(look),
      ended,
      endedIn: () => readFileSync(place, 'utf8').trim(),
    };
  }

  async function within<T>(running: Running, what: string, wanted: Promise<T>, limit = LIMIT_MS): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const why = () => new Error(`${what} took more than ${limit / 1_000} s; it has shown:\n${lastOf(running)}`);
      timer = setTimeout(() => reject(why()), limit);
    });
    try {
      return await Promise.race([wanted, late]);
    } catch (error) {
      running.kill('SIGKILL');
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async type(command, answers = []) {
      const running = start(command, folder);
      const left = [...answers];
      let read = 0;
      running.onShown(() => {
        const [next] = left;
        if (next === undefined || !next[0].test(running.shown().slice(read))) return;
        left.shift();
        read = running.shown().length;
        running.write(`${next[1]}\r`);
      });
      const code = await within(running, command, running.ended);
      if (code !== 0) throw new Error(`${command}\nended with ${code}; it had shown:\n${lastOf(running)}`);
      if (left.length > 0) throw new Error(`${command}\nnever showed ${String(left[0]?.[0])}:\n${lastOf(running)}`);
      folder = running.endedIn();
      return running.shown();
    },
    async keep(command, until) {
      const running = start(command, first);
      kept = { running, command };
      const there = new Promise<void>((resolve, reject) => {
        running.onShown(() => {
          if (until.test(running.shown())) resolve();
        });
        void running.ended.then((code) => reject(new Error(`${command} ended with ${code}:\n${lastOf(running)}`)));
      });
      await within(running, command, there);
    },
    async end() {
      if (kept === undefined) return;
      const { running, command } = kept;
      // As a person ends it.
      running.write('\x03');
      await within(running, command, running.ended, STOP_MS);
    },
  };
}
