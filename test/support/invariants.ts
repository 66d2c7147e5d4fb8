/** The invariants of a single run, as the design numbers them, checked on all that a live reader saw. */
import { expect } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import type { DurableEvent } from '../../contract/events.js';
import { DurableEvent as DurableEventSchema } from '../../contract/events.js';
import { LiveEvent as LiveEventSchema } from '../../contract/live-events.js';
import type { LiveEvent } from '../../contract/live-events.js';
import { projectSnapshot } from '../../contract/snapshot.js';
import { projectTranscript } from '../../contract/transcript.js';
import { endsInTime } from './time-limits.js';
import type { TimeLimit } from './time-limits.js';
import { durable, ofType } from './world.js';

type Delta = Extract<LiveEvent, { index: number }>;

/** `limit` where the run has a time budget. */
export function checkInvariants(seen: readonly StreamEvent[], limit?: TimeLimit): void {
  const log = durable(seen);
  if (limit !== undefined) endsInTime(log, limit);
  for (const event of seen) ('seq' in event ? DurableEventSchema : LiveEventSchema).parse(event);
  endsOnce(log);
  everyCallHasOneResult(log);
  expect(new Set(log.map((event) => event.agent_id)).size).toBe(1);
  expect(log.map((event) => event.seq)).toEqual(log.map((_, index) => index));
  textsMatchTheirDeltas(seen);
  stepsAreClosed(log);
  pausesAreOver(log);
  transcriptIsSendable(log);
}

/** 1: exactly one `run_completed`, last, whose status matches the last phase; an answer exactly where there is success. */
function endsOnce(log: readonly DurableEvent[]): void {
  const ends = ofType(log, 'run_completed');
  expect(ends).toHaveLength(1);
  const end = log.at(-1);
  if (end?.type !== 'run_completed') throw new Error(`the last event is ${end?.type}`);
  expect(ofType(log, 'run_phase_changed').at(-1)?.phase).toBe(end.phase);
  const answers = ofType(log, 'summary_final').map((event) => event.text);
  if (end.status === 'success') expect(answers).toEqual([end.answer]);
  else expect(answers.length).toBeLessThanOrEqual(end.status === 'canceled' ? 1 : 0);
}

/** 2: every `tool_requested` has exactly one `tool_result`, after it. */
function everyCallHasOneResult(log: readonly DurableEvent[]): void {
  const requested = ofType(log, 'tool_requested').map((event) => event.tool_call_id);
  expect(new Set(requested).size).toBe(requested.length);
  expect(
    ofType(log, 'tool_result')
      .map((event) => event.tool_call_id)
      .sort(),
  ).toEqual([...requested].sort());
  for (const result of ofType(log, 'tool_result')) {
    const request = ofType(log, 'tool_requested').find((event) => event.tool_call_id === result.tool_call_id);
    expect(request?.seq).toBeLessThan(result.seq);
    if (result.status === 'success') expect(wasMade(log, result.tool_call_id), result.tool_call_id).toBe(true);
  }
}

/** A worker got it, or people were asked. */
function wasMade(log: readonly DurableEvent[], callId = ''): boolean {
  return (
    ofType(log, 'tool_scheduled').some((event) => event.tool_call_id === callId) ||
    ofType(log, 'await_clarification').some((event) => event.tool_call_id === callId) ||
    ofType(log, 'await_external_tools').some((event) => event.calls.some((call) => call.tool_call_id === callId))
  );
}

/** 7: every pause is over once, before the end; and so is every one that was seen from above. */
function pausesAreOver(log: readonly DurableEvent[]): void {
  const opened = log.flatMap((event) =>
    event.type === 'await_clarification' || event.type === 'await_external_tools' || event.type === 'await_approval'
      ? [event.await_id]
      : [],
  );
  expect(new Set(opened).size).toBe(opened.length);
  expect(
    ofType(log, 'await_resolved')
      .map((event) => event.await_id)
      .sort(),
  ).toEqual([...opened].sort());
  expect(projectSnapshot(log)?.awaits).toEqual([]);
}

/**
 * 6: closing text = deltas of the winning attempt, whenever the reader came, and none after the closing event; every
 * block that was seen open is closed or retracted.
 */
function textsMatchTheirDeltas(seen: readonly StreamEvent[]): void {
  const isText = (event: StreamEvent): event is Delta =>
    !('seq' in event) &&
    (event.type === 'text_chunk' || event.type === 'thinking_chunk' || event.type === 'summary_chunk');
  const deltas = seen.filter(isText);
  const closing = durable(seen).filter(
    (event) =>
      event.type === 'text_end' ||
      event.type === 'thinking_end' ||
      (event.type === 'summary_final' && event.block_id !== undefined),
  );
  for (const end of closing) {
    if (!('text' in end) || !('block_id' in end)) continue;
    const parts = deltas.filter((event) => event.block_id === end.block_id && event.attempt === end.attempt);
    expect(parts.map((part) => part.text).join('')).toBe(end.text);
    expect(parts.every((part) => seen.indexOf(part) < seen.indexOf(end))).toBe(true);
    const indexes = parts.map((part) => part.index);
    // One chunk can hold several: what came before the reader's feed had read the log is given as one.
    expect(indexes).toEqual([...new Set(indexes)].sort((a, b) => a - b));
  }
  for (const delta of deltas) {
    const closed = closing.some(
      (end) => 'block_id' in end && end.block_id === delta.block_id && end.attempt === delta.attempt,
    );
    const retracted = ofType(seen, 'attempt_retracted').some(
      (event) => event.step_id === delta.step_id && event.attempt >= delta.attempt,
    );
    expect(
      closed !== retracted,
      `block ${delta.block_id}, attempt ${delta.attempt}: closed ${closed}, retracted ${retracted}`,
    ).toBe(true);
  }
}

/**
 * 3: every `agent_run_started` names a run that exists, with that parent; it ends before its parent's `tool_result`.
 * Pauses are seen from above between the two.
 */
export function checkTree(
  logs: ReadonlyMap<string, readonly DurableEvent[]>,
  rootId: string,
  terminated?: string,
): void {
  for (const [runId, log] of logs) {
    const started = ofType(log, 'agent_run_started');
    expect(new Set(started.map((event) => event.tool_call_id)).size).toBe(started.length);
    for (const { link, tool_call_id, seq } of started) {
      const below = logs.get(link.run_id);
      // One that was terminated before its first workflow task has written nothing.
      if (link.run_id === terminated && below?.length === 0) continue;
      if (below?.[0] === undefined) throw new Error(`${runId} links to ${link.run_id}, which is not there`);
      for (const event of below) {
        expect(event).toMatchObject({
          run_id: link.run_id,
          agent_id: link.agent_id,
          root_run_id: rootId,
          parent_run_id: runId,
          parent_tool_call_id: tool_call_id,
        });
      }
      const result = ofType(log, 'tool_result').find((event) => event.tool_call_id === tool_call_id);
      if (runId === terminated) continue;
      expect(result?.link, `the result of ${tool_call_id}`).toEqual(link);
      expect(seq).toBeLessThan(result?.seq ?? -1);
      if (link.run_id !== terminated) {
        expect(below.at(-1)?.type).toBe('run_completed');
        expect(Date.parse(below.at(-1)?.at ?? '')).toBeLessThanOrEqual(Date.parse(result?.at ?? ''));
      }
      const relayed = ofType(log, 'child_await_changed').filter(
        (event) => event.link.run_id === link.run_id || event.link.run_id.startsWith(`${link.run_id}/`),
      );
      for (const event of relayed) {
        expect(event.seq).toBeGreaterThan(seq);
        expect(event.seq).toBeLessThan(result?.seq ?? -1);
      }
    }
  }
}

function stepsAreClosed(log: readonly DurableEvent[]): void {
  expect(ofType(log, 'step_completed').map((event) => event.step_id)).toEqual(
    ofType(log, 'step_started').map((event) => event.step_id),
  );
}

/** A vendor refuses a conversation with a call that has no result: it would poison all that follows. */
function transcriptIsSendable(log: readonly DurableEvent[]): void {
  const messages = projectTranscript(log);
  messages.forEach((message, index) => {
    if (message.role !== 'assistant' || message.tool_calls === undefined) return;
    const ids = message.tool_calls.map((call) => call.id).sort();
    const next = messages.slice(index + 1, index + 1 + ids.length);
    expect(next.map((result) => (result.role === 'tool' ? result.tool_call_id : result.role)).sort()).toEqual(ids);
  });
}
