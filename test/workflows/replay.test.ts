/** Recorded histories, replayed against today's workflows: a change of their commands without `patched()` is red here. */
import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { workflowBundlePath } from '../../worker/workflow-bundle.js';

installRuntimeLog(() => {});
const folder = new URL('histories/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
interface RecordedHistory {
  events: { workflowExecutionStartedEventAttributes?: { workflowId: string } }[];
}

/** Under its own id: those of its children are made of it. */
function replay(text: string): Promise<void> {
  const history = JSON.parse(text) as RecordedHistory;
  const id = history.events[0]?.workflowExecutionStartedEventAttributes?.workflowId;
  return Worker.runReplayHistory({ workflowBundle: { codePath: workflowBundlePath() } }, history, id);
}

describe('recorded histories replay', () => {
  it('there are some', () => expect(files.length).toBeGreaterThan(0));

  for (const file of files) {
    it(file, async () => {
      await replay(readFileSync(new URL(file, folder), 'utf8'));
    });
  }

  it('a history that asks for other commands is refused', async () => {
    const text = readFileSync(new URL(files[0] ?? '', folder), 'utf8');
    await expect(replay(text.replaceAll('"resolveRun"', '"resolveSomethingElse"'))).rejects.toThrow(
      /nondeterminism|Nondeterminism|does not match/i,
    );
  });
});
