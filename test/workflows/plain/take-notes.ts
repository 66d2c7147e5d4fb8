/** A workflow without any code of ours: it notes three signals, each with the time at which it came. */
import { condition, defineQuery, defineSignal, setHandler } from '@temporalio/workflow';

export async function takeNotes(): Promise<string[]> {
  const notes: string[] = [];
  setHandler(defineQuery<string[]>('notes'), () => notes);
  setHandler(defineSignal<[string]>('note'), (text) => void notes.push(`${text} at ${Date.now()}`));
  await condition(() => notes.length >= 3);
  return notes;
}
