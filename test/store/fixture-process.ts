/** A script of `fixtures/` as a process, as it was built, with what it prints line by line. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

export interface FixtureProcess {
  /** Resolves with it; rejects where the process ends before. */
  nextLine(): Promise<string>;
  tell(line: string): void;
  kill(): void;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; errors: string }>;
}

export function startFixture(name: string, ...args: string[]): FixtureProcess {
  const script = join(import.meta.dirname, '../../dist/test/store/fixtures', `${name}.js`);
  const child = spawn(process.execPath, [script, ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (errors += text));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<Awaited<FixtureProcess['ended']>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, errors }));
  });
  return {
    async nextLine() {
      const { done, value } = await lines.next();
      if (done === true) throw new Error(`${name} ended: ${JSON.stringify(await ended)}`);
      return value as string;
    },
    tell: (line) => void child.stdin.write(`${line}\n`),
    kill: () => void child.kill('SIGKILL'),
    ended,
  };
}
