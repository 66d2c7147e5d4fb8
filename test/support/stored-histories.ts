/** Histories that were kept in files, for the end of a test run. */
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import type { Histories, History } from './replay-histories.js';

const Stored = proto.temporal.api.history.v1.History;
/** Their folders begin so; each has pairs of `<number>.id` and `<number>.history`. */
const KEPT = 'kept-';

/** Gives the folder, which is a new one. */
export async function storeHistories(dataRoot: string, histories: Histories): Promise<string> {
  const folder = await mkdtemp(join(dataRoot, KEPT));
  let n = 0;
  for await (const { workflowId, history } of histories) {
    n += 1;
    await writeFile(join(folder, `${n}.id`), workflowId);
    await writeFile(join(folder, `${n}.history`), Stored.encode(history).finish());
  }
  return folder;
}

/** All that were kept under the folder. */
export async function* storedHistories(
  dataRoot: string,
): AsyncGenerator<{ workflowId: string; history: History }, undefined> {
  const folders = (await readdir(dataRoot)).filter((name) => name.startsWith(KEPT));
  for (const folder of folders) {
    const files = (await readdir(join(dataRoot, folder))).filter((name) => name.endsWith('.history'));
    for (const name of files) {
      const path = join(dataRoot, folder, name);
      const workflowId = await readFile(path.replace(/history$/, 'id'), 'utf8');
      yield { workflowId, history: Stored.decode(await readFile(path)) };
    }
  }
  return undefined;
}
