/**
 * Runs a Python file of `scenarios/` with one version of the SDK against a gateway. What it says (`say` in scenario.py)
 * comes back as facts, one by one; an exception that it does not expect fails the test with its traceback.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { sdkPython } from './sdk-environment.js';
import type { SdkVersion } from './sdk-environment.js';

/** One line of a scenario: what it is about, and what was seen. */
export interface Fact {
  said: string;
  [name: string]: unknown;
}

export interface Scenario {
  version: SdkVersion;
  /** The file's name, without `.py`. */
  name: string;
  url: string;
  token: string;
  /** Read by the scenario as `given`. */
  given?: Record<string, unknown>;
}

export interface RunningScenario {
  /** The first fact of that name, as soon as it is said; rejects where the scenario ends without it. */
  fact(said: string): Promise<Fact>;
  /** One line to the scenario, which waits for it by `wait_for_line`. */
  tell(line: string): void;
  /** All facts, once it has ended well. */
  end(): Promise<Fact[]>;
}

export async function runScenario(scenario: Scenario): Promise<Fact[]> {
  return (await startScenario(scenario)).end();
}

export async function startScenario({ version, name, url, token, given = {} }: Scenario): Promise<RunningScenario> {
  const python = await sdkPython(version);
  // An empty home: a configuration of the SDK that is on this machine must not be found.
  const home = await mkdtemp(join(tmpdir(), 'perdure-roboto-'));
  const child = spawn(python, [join(import.meta.dirname, 'scenarios', `${name}.py`)], {
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      PERDURE_URL: url,
      PERDURE_TOKEN: token,
      PERDURE_GIVEN: JSON.stringify(given),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const facts: Fact[] = [];
  const waiting = new Set<() => void>();
  let errors = '';
  let isOver = false;
  const wake = () => waiting.forEach((look) => look());
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  createInterface({ input: child.stdout }).on('line', (line) => {
    facts.push(JSON.parse(line) as Fact);
    wake();
  });
  const ended = once(child, 'close').then(([code, signal]) => {
    isOver = true;
    wake();
    return code === 0
      ? undefined
      : new Error(`${name}.py with roboto ${version} ended by ${code ?? signal}:\n${errors}`);
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(home, { recursive: true, force: true });
  });
  return {
    fact: (said) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = facts.find((fact) => fact.said === said);
          if (found === undefined && !isOver) return;
          waiting.delete(look);
          if (found !== undefined) resolve(found);
          else reject(new Error(`${name}.py with roboto ${version} ended without saying "${said}":\n${errors}`));
        };
        waiting.add(look);
        look();
      }),
    tell: (line) => void child.stdin.write(`${line}\n`),
    async end() {
      const failure = await ended;
      if (failure !== undefined) throw failure;
      return facts;
    },
  };
}
