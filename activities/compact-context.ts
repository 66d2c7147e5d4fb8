/**
 * The oldest part of a run's conversation, read once more by its own model and replaced by what that writes. What the
 * model reads from then on is in the cache of this worker; another one reads it from the workflow, as ever.
 */
import { Context } from '@temporalio/activity';
import type { CompactInput, CompactResult } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { summaryMessage } from '../contract/compaction.js';
import type { ChatInvokeUsage } from '../contract/completion.js';
import { digestOfAll } from '../contract/digest.js';
import { PerdureError } from '../contract/errors.js';
import type { BaseMessage } from '../contract/messages.js';
import { roomForMessages } from '../contract/reservation.js';
import { askModel } from './ask-model.js';
import { providerOf } from './model-session.js';
import type { ModelDependencies } from './model-session.js';
import { behindCut, chooseCut } from './choose-cut.js';
import { startHeartbeat } from './heartbeat.js';
import { openAttempts } from './model-attempts.js';
import { openOutage } from './outlast-outage.js';
import { summarize } from './summarize.js';
import type { Question } from './summarize.js';
import { sumUsage } from './sum-usage.js';

/** With less room than this there is nothing to win. */
const LEAST_ROOM = 1_000;

export async function compactContext(dependencies: ModelDependencies, input: CompactInput): Promise<CompactResult> {
  const context = Context.current();
  const started = Date.now();
  const heartbeat = startHeartbeat(context, dependencies.calls);
  const where = `compacting the conversation of ${input.step_id} of run ${input.run.run_id}`;
  const attempts = openAttempts(context, heartbeat, 0, where, (error) =>
    dependencies.threw({ what: 'model provider', error, run_id: input.run.run_id, attempt: context.info.attempt }),
  );
  const usages: (ChatInvokeUsage | null)[] = [];
  try {
    const { spec: pinned, messages } = await dependencies.contexts.load(input, context);
    const spec = attempts.pin(pinned);
    const room = roomOf(spec, messages, input.refused === true);
    const cut = room < LEAST_ROOM ? undefined : chooseCut(messages, Math.floor(room / 2), Math.floor((room * 3) / 4));
    const done = () => ({
      ...attempts.report(),
      duration_ms: Date.now() - started,
      model_calls: usages.length,
      usage: sumUsage(spec.model.model, usages),
    });
    if (cut === undefined) return done();
    const outage = openOutage(context, heartbeat, spec, attempts.isLastProfile());
    const asked = { ...spec.model, provider: providerOf(dependencies.registry, spec), outage };
    const { run_id } = input.run;
    const ask = async (question: Question) => {
      const ids = { run_id, step_id: `${input.step_id}.compaction`, timeout_ms: spec.runtime.model_timeout_ms };
      const { text, usage } = await askModel({ ...heartbeat, attempt: context.info.attempt }, asked, {
        ...question,
        ...ids,
      });
      usages.push(usage);
      return text;
    };
    const replaced = messages.slice(0, cut.at);
    const summary = await summarize(replaced, { question: room, summary: Math.floor(room / 4) }, ask);
    if (summary === '')
      throw new PerdureError('model_stream_empty', `${asked.provider.name} ${asked.model} wrote no summary`);
    const kept = [...(cut.user < cut.at ? messages.slice(cut.user, cut.user + 1) : []), ...messages.slice(cut.at)];
    const view = [summaryMessage(summary), ...kept];
    const characters = { before: charactersOf(messages), after: charactersOf(view) };
    // A summary that is longer than what it stands for.
    if (characters.after >= characters.before) return done();
    dependencies.contexts.replace(input, pinned, view);
    const compacted = {
      ...behindCut(cut.at, input.compacted, input.thread?.length ?? 0),
      summary,
      messages: messages.length - kept.length,
      digest: digestOfAll(replaced.filter((_, n) => n !== cut.user)),
      prefix: { length: view.length, digest: digestOfAll(view) },
      characters,
    };
    return { ...done(), compacted };
  } catch (error) {
    throw attempts.failed(error);
  } finally {
    heartbeat.stop();
  }
}

/** In characters, for all messages together. One that the vendor refused as too long has too much, whatever is said of its window. */
function roomOf(spec: AgentSpec, messages: readonly BaseMessage[], refused: boolean): number {
  const room = roomForMessages(spec) ?? Number.POSITIVE_INFINITY;
  return refused ? Math.min(room, Math.floor((charactersOf(messages) * 3) / 4)) : room;
}

function charactersOf(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
}
