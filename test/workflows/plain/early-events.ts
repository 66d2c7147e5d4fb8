/** Workflows without any code of ours, for what the SDK does with events before their workflow task. */
import {
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  setHandler,
  sleep,
  upsertMemo,
} from '@temporalio/workflow';

/** Notes three signals, each with the time at which it came. */
export async function takeNotes(): Promise<string[]> {
  const notes: string[] = [];
  setHandler(defineQuery<string[]>('notes'), () => notes);
  setHandler(defineSignal<[string]>('note'), (text) => void notes.push(`${text} at ${Date.now()}`));
  await condition(() => notes.length >= 3);
  return notes;
}

const { waitOutside } = proxyActivities<{ waitOutside(): Promise<void> }>({ startToCloseTimeout: '10m' });

/** Starts a timer when an activity ends, and changes its memo at a signal: two commands, whose order is the history's. */
export async function hearTwo(): Promise<void> {
  let isTold = false;
  setHandler(defineQuery<boolean>('is_told'), () => isTold);
  setHandler(defineSignal('tell'), () => {
    upsertMemo({ told: true });
    isTold = true;
  });
  takeLong();
  await waitOutside();
  await sleep(1);
  await condition(() => isTold);
}

/** A worker that loads it has to work for it, so that the tasks of others wait. */
function takeLong(): void {
  let text = '';
  for (let n = 0; n < 300_000; n++) text = `${text.slice(0, 20)}${n}`;
}
