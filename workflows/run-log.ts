/**
 * The ordered, gapless log of one run.
 *
 * L1  `seq` is the index in the log; an event never changes once appended.
 * L2  The transcript is a projection of the log, folded as events are appended.
 * L3  The worker is handed each event as it is appended, with the workflow task that did: it is told to readers when
 *     that task is completed.
 */
import { proxySinks, workflowInfo } from '@temporalio/workflow';
import type { DurableEvent, EventDraft } from '../contract/events.js';
import { eventId } from '../contract/ids.js';
import type { BaseMessage } from '../contract/messages.js';
import { makePage } from '../contract/pages.js';
import type { Page, PageRequest } from '../contract/pages.js';
import type { RunHandle } from '../contract/run.js';
import type { RunSinks } from '../contract/sinks.js';
import { foldTranscript, projectTranscript } from '../contract/transcript.js';

export interface RunLog {
  readonly events: readonly DurableEvent[];
  readonly transcript: readonly BaseMessage[];
  append(draft: EventDraft): DurableEvent;
  page(request: PageRequest): Page;
  ended(): boolean;
}

const { perdure } = proxySinks<RunSinks>();

export function createRunLog(handle: RunHandle, carried: readonly DurableEvent[] = []): RunLog {
  const events = [...carried];
  const transcript = projectTranscript(events);

  return {
    events,
    transcript,
    append(draft) {
      const seq = events.length;
      const { type, ...rest } = draft;
      const event = {
        type,
        seq,
        event_id: eventId(handle.run_id, seq),
        at: new Date().toISOString(),
        ...handle,
        ...rest,
      } as DurableEvent;
      events.push(event);
      foldTranscript(transcript, event);
      perdure.appended(handle.run_id, workflowInfo().historyLength, seq, JSON.stringify(event));
      return event;
    },
    page: (request) => makePage(events.length, (index) => JSON.stringify(events[index]), request),
    ended: () => events.at(-1)?.type === 'run_completed',
  };
}
