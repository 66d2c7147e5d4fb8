/** The Dockerfile as stages of instructions. It knows what our file uses, and refuses what it does not know. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './compose-file.js';

const KNOWN = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'EXPOSE', 'STOPSIGNAL', 'ENTRYPOINT', 'CMD'] as const;
type Word = (typeof KNOWN)[number];

export interface Instruction {
  readonly word: Word;
  readonly rest: string;
}

export interface Stage {
  readonly from: string;
  readonly name?: string;
  readonly instructions: readonly Instruction[];
}

export function readDockerfile(): readonly Stage[] {
  const stages: { from: string; name?: string; instructions: Instruction[] }[] = [];
  for (const line of readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const { word, rest } = instructionOf(line);
    const [, from = '', name] = word === 'FROM' ? (/^(\S+)(?: AS (\S+))?$/.exec(rest) ?? []) : [];
    if (word === 'FROM') stages.push({ from, ...(name === undefined ? {} : { name }), instructions: [] });
    else stages.at(-1)?.instructions.push({ word, rest });
  }
  return stages;
}

function instructionOf(line: string): Instruction {
  const [, first = '', rest = ''] = /^(\S+) (.*[^\\])$/.exec(line) ?? [];
  const word = KNOWN.find((known) => known === first);
  if (word === undefined) throw new Error(`the Dockerfile has an instruction that this reader does not know: ${line}`);
  return { word, rest };
}

export function all(stage: Stage, word: Word): string[] {
  return stage.instructions.filter((instruction) => instruction.word === word).map(({ rest }) => rest);
}

export interface Image {
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
}

/** What a container of the last stage starts with. */
export function readImage(): Image {
  const last = readDockerfile().at(-1);
  if (last === undefined) throw new Error('the Dockerfile has no stage');
  const pairs = all(last, 'ENV').flatMap((rest) => rest.split(' ').map((pair) => pair.split('=')));
  return {
    entrypoint: JSON.parse(all(last, 'ENTRYPOINT').at(-1) ?? '[]') as string[],
    env: Object.fromEntries(pairs.map(([name = '', value = '']) => [name, value])),
    workdir: all(last, 'WORKDIR').at(-1) ?? '/',
  };
}
