/** What is said to a run that goes on: a cancel, and answers to what it waits for. */
import { checkMayAnswer, checkMayCancel } from '../own-run.js';
import { answererOf } from '../principal.js';
import { defineRunRoute } from '../route.js';
import { Accepted, Approval, Cancel, Clarification, ToolResults } from '../shapes/commands.js';

export const cancelRun = defineRunRoute({
  operation: 'cancelRun',
  method: 'POST',
  path: '/v1/runs/{run_id}/cancel',
  summary: 'Cancels a run and all below it. The run’s own end says when it is done.',
  access: 'runs:cancel',
  body: Cancel,
  replies: { 202: { description: 'The run has been told.', schema: Accepted } },
  errors: ['forbidden', 'run_ended'],
  async handle({ tools, principal, body, run }) {
    checkMayCancel(principal, run.record);
    await tools.runs.cancel(run.run_id, body);
    return accepted(run.run_id, 202);
  },
});

const answered = { 200: { description: 'The run took the answer.', schema: Accepted } };

export const answerClarification = defineRunRoute({
  operation: 'answerClarification',
  method: 'POST',
  path: '/v1/runs/{run_id}/clarifications',
  summary: 'Answers a question. The run is the one that asks: the `run_id` of the pause.',
  access: 'runs:answer',
  body: Clarification,
  replies: answered,
  errors: ['forbidden', 'run_ended'],
  async handle({ tools, principal, body, run }) {
    checkMayAnswer(tools.catalog, principal, run.record, 'answers');
    await tools.runs.answerClarification(run.run_id, { ...body, ...answererOf(principal) });
    return accepted(run.run_id, 200);
  },
});

export const submitToolResults = defineRunRoute({
  operation: 'submitToolResults',
  method: 'POST',
  path: '/v1/runs/{run_id}/tool-results',
  summary: 'Gives a run the results of tools that the caller runs.',
  access: 'runs:answer',
  body: ToolResults,
  replies: answered,
  errors: ['forbidden', 'run_ended'],
  async handle({ tools, principal, body, run }) {
    checkMayAnswer(tools.catalog, principal, run.record, 'answers');
    await tools.runs.submitToolResults(run.run_id, { ...body, ...answererOf(principal) });
    return accepted(run.run_id, 200);
  },
});

export const decideApproval = defineRunRoute({
  operation: 'decideApproval',
  method: 'POST',
  path: '/v1/runs/{run_id}/approvals',
  summary: 'Approves a call, or denies it. The digest says which call was read.',
  access: 'runs:approve',
  // Who may decide, the agent's policy says.
  use: 'read',
  body: Approval,
  replies: answered,
  errors: ['forbidden', 'run_ended'],
  async handle({ tools, principal, body, run }) {
    checkMayAnswer(tools.catalog, principal, run.record, 'approvals');
    await tools.runs.decideApproval(run.run_id, { ...body, ...answererOf(principal) });
    return accepted(run.run_id, 200);
  },
});

function accepted(run_id: string, status: 200 | 202): Response {
  return Response.json({ run_id, accepted: true }, { status });
}
