/**
 * What the model reads of a program's end. An error of the program is a result like any other: its traceback is what
 * the model corrects itself by. A limit is a failure that says what to do. What is added to the output stands after
 * it, in brackets: whoever saw the output live is then shown the rest alone.
 */
import { constants } from 'node:os';
import type { ToolFailureKind } from '../../contract/tools.js';
import { ToolError } from '../../kit/tool-error.js';
import { cleanFile } from '../file-names.js';
import type { CodeLimits } from './code-limits.js';
import type { SandboxEnd, SandboxFile } from './read-frames.js';
import type { SandboxRun } from './run-sandboxed.js';

type Limit = 'wall' | 'cpu' | 'memory' | 'processes' | 'space' | 'inodes' | 'file_count' | 'file_bytes';

/** Of a program that is stopped, so much of the end of its output is in the message. */
const SHOWN_OF_OUTPUT = 2_000;

export function tellOutcome({ end, output, files }: SandboxRun, limits: CodeLimits): string {
  if (end.why === 'setup') throw new ToolError('internal', `The sandbox could not be set up: ${end.trouble}`);
  const limit = limitOf(end, output, limits);
  if (limit !== undefined) throw limitError(limit, end, output, limits);
  const marks = [...cutMark(end, limits), ...endMark(end), ...filesMark(files), ...skippedMark(end)];
  if (marks.length === 0) return output === '' ? '[no output]' : output;
  return `${output}${output === '' || output.endsWith('\n') ? '' : '\n'}${marks.join('\n')}`;
}

/** The last line of a traceback: a limit that the kernel or Python has told the program of, and it had no answer. */
const LAST_WORDS: readonly (readonly [RegExp, Limit])[] = [
  [/^(?:[\w.]+\.)?_?(?:Array)?MemoryError\b/, 'memory'],
  [/^OSError: \[Errno (?:27|28)\]/, 'space'],
  [/^BlockingIOError: \[Errno 11\]|^RuntimeError: can't start new thread/, 'processes'],
];

function limitOf({ why, exit, signal, cpu }: SandboxEnd, output: string, limits: CodeLimits): Limit | undefined {
  if (why !== null && why !== 'setup') return why;
  if (
    signal === constants.signals.SIGXCPU ||
    (signal === constants.signals.SIGKILL && (cpu ?? 0) >= limits.cpu_seconds)
  )
    return 'cpu';
  if (exit === 0 || exit === null || exit === undefined) return undefined;
  const last = output.trimEnd().split('\n').at(-1) ?? '';
  return LAST_WORDS.find(([words]) => words.test(last))?.[1];
}

function limitError(limit: Limit, end: SandboxEnd, output: string, limits: CodeLimits): ToolError {
  const [kind, what] = explain(limit, end, limits);
  const shown = output.trim().slice(-SHOWN_OF_OUTPUT);
  const printed = shown === '' ? 'It had printed nothing.' : `The end of what it printed:\n${shown}`;
  // The same code would meet the same limit.
  return new ToolError(kind, `${what} ${printed}`, { retryable: false });
}

function explain(limit: Limit, end: SandboxEnd, limits: CodeLimits): [ToolFailureKind, string] {
  switch (limit) {
    case 'wall':
      return ['timeout', `The program was stopped after ${limits.wall_seconds} s. Do less, or do it in several calls.`];
    case 'cpu':
      return [
        'timeout',
        `The program was stopped after ${limits.cpu_seconds} s of computing. Use a faster way, or do it in several calls.`,
      ];
    case 'memory':
      return [
        'invalid_call',
        `The program needed more than ${bytes(limits.memory_bytes)} of memory. Work on smaller pieces.`,
      ];
    case 'processes':
      return [
        'invalid_call',
        `The program needed more than ${limits.processes} processes and threads at the same time. Use fewer.`,
      ];
    case 'space':
      return [
        'invalid_call',
        `The program wrote more than ${bytes(limits.file_bytes)} into its files. Write less, or compress it.`,
      ];
    case 'inodes':
      return ['invalid_call', 'The program made far too many files. Write one file, or an archive.'];
    case 'file_count':
      return [
        'invalid_call',
        `The program left ${end.file_count} files, and ${limits.files} may come back. Delete those that are not needed, or write an archive.`,
      ];
    case 'file_bytes':
      return [
        'invalid_call',
        `The program left files of ${bytes(end.file_bytes)} together, and ${bytes(limits.file_bytes)} may come back. Write less, or compress it.`,
      ];
  }
}

function cutMark({ printed }: SandboxEnd, { output_bytes }: CodeLimits): string[] {
  return printed <= output_bytes
    ? []
    : [`[output cut: it printed ${printed} bytes, and the first ${output_bytes} are kept]`];
}

function endMark({ exit, signal }: SandboxEnd): string[] {
  if (signal !== null && signal !== undefined) {
    const [name] = Object.entries(constants.signals).find(([, number]) => number === signal) ?? [`signal ${signal}`];
    return [`[the program was ended by ${name}]`];
  }
  return exit === 0 ? [] : [`[exit code ${exit}]`];
}

function filesMark(files: readonly SandboxFile[]): string[] {
  if (files.length === 0) return [];
  const told = files.map(({ filename, mime_type, content }) => `${filename} (${mime_type}, ${content.length} bytes)`);
  return [`[files: ${told.join(', ')}]`];
}

function skippedMark({ skipped }: SandboxEnd): string[] {
  const names = skipped.map((name) => cleanFile(name, '').filename);
  return names.length === 0 ? [] : [`[left out, since these are no readable files: ${names.join(', ')}]`];
}

function bytes(count: number): string {
  const MIB = 1024 * 1024;
  return count >= MIB ? `${Math.round((count / MIB) * 10) / 10} MiB` : `${count} bytes`;
}
