/**
 * How many runs and threads a worker keeps in memory between their workflow tasks, where the configuration does not say.
 *
 * One that is kept goes on at once; one that is not is replayed from its history at its next task. So more is better, up
 * to the memory that there is: a worker that has none left dies, with all that it does.
 *
 * Measured (`docs/deploy.md`): a run that waits, with a log of a few KB, holds 0.4 MB; each further KB of log about 10 KB,
 * since events, messages and what Temporal keeps of them are all there. A run with some 350 KB of log then has 4 MB: few
 * runs have more. The SDK's own default counts with 1.7 MB each, whatever they hold.
 */
const MIB = 1024 * 1024;
const EACH = 4 * MIB;
/** For all else that a worker does: its activities, the conversations that it remembers, what it loads. */
const REST = 512 * MIB;
/** With fewer, workers would do little else than replay. */
const LEAST = 50;
/** As many are rarely at work at once; and when a worker dies, another one has to replay all that it had. */
const MOST = 1_000;

/** Of the most memory that Node gives to JavaScript, in bytes. */
export function cachedWorkflows(heapLimit: number): number {
  return Math.min(MOST, Math.max(LEAST, Math.floor((heapLimit - REST) / EACH)));
}
