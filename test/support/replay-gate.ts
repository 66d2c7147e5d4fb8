/**
 * The gate at the end of a test run: every history that the tests made is replayed against the bundle. One that does not
 * replay would have hung its run on the next worker. It fails the whole run of tests, and is kept as a file.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { replayHistories } from './replay-histories.js';
import type { Histories } from './replay-histories.js';

export const report = (line: string) => void process.stderr.write(`${line}\n`);

/** `dataRoot` has the data folders of all tests. */
export async function replayAll(project: string, dataRoot: string, sources: readonly Histories[]): Promise<void> {
  installRuntimeLog(() => {});
  const began = Date.now();
  const keepIn = join(tmpdir(), 'perdure-unreplayable');
  try {
    const { histories, failed } = await replayHistories(sources, { dataDirs: dataRoot, keepIn });
    const seconds = Math.round((Date.now() - began) / 1_000);
    report(`replayed ${histories} histories of the tests (${project}) in ${seconds} s, ${failed.length} failed`);
    for (const { id, error, file } of failed) report(`does not replay: ${id}: ${error}\n  its history is in ${file}`);
    if (failed.length > 0) process.exitCode = 1;
  } catch (error) {
    report(`the histories of the tests could not be replayed: ${String(error)}`);
    process.exitCode = 1;
  }
}
