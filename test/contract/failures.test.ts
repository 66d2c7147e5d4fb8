import { describe, expect, it } from 'vitest';
import {
  ERRORS,
  isErrorCode,
  isPerdureError,
  PerdureError,
  SAFE_MESSAGES,
  safeMessage,
} from '../../contract/errors.js';
import type { ErrorCode } from '../../contract/errors.js';
import { failureText, toolFailure } from '../../contract/tool-failure.js';
import { ToolFailure, ToolFailureKind } from '../../contract/tools.js';

const codes = Object.keys(ERRORS) as ErrorCode[];

describe.each(codes)('the error %s', (code) => {
  it('has advice in a sentence, and a status that is an error', () => {
    expect(ERRORS[code].advice).toMatch(/^[A-Z].*\.$/);
    expect(ERRORS[code].http_status).toBeGreaterThanOrEqual(400);
    expect(ERRORS[code].http_status).toBeLessThan(600);
  });

  it('ends its message with the advice', () => {
    const error = new PerdureError(code, 'it happened to run_1');
    expect(error.message).toBe(`it happened to run_1. ${ERRORS[code].advice}`);
  });

  it('has a message for users that is free of ids, and says more than nothing', () => {
    expect(safeMessage(code)).toMatch(/^[A-Z][^:/{}]{20,}\.$/);
  });
});

describe('the table of errors', () => {
  it('has only codes in snake_case, and safe messages only for its codes', () => {
    for (const code of codes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(Object.keys(SAFE_MESSAGES).filter((code) => !isErrorCode(code))).toEqual([]);
  });

  it('retries what may pass, never what the caller must correct', () => {
    const retried = codes.filter((code) => ERRORS[code].retry);
    for (const code of retried) expect([429, 502, 503, 504]).toContain(ERRORS[code].http_status);
    expect(retried).toContain('model_rate_limited');
    expect(retried).not.toContain('model_unauthorized');
    expect(retried).not.toContain('model_bad_request');
  });

  it('does not take inherited names for codes', () => {
    expect(['toString', 'constructor', '__proto__', '', 7, undefined].filter(isErrorCode)).toEqual([]);
  });
});

describe('a PerdureError', () => {
  it('does not double the full stop of what happened', () => {
    expect(new PerdureError('internal', 'It broke.\n').message).toBe('It broke. See the worker’s log for the cause.');
    // Also where the one is made of the other.
    const inner = new PerdureError('internal', 'It broke');
    expect(new PerdureError('internal', `Here: ${inner.message}`).message).toBe(`Here: ${inner.message}`);
  });

  it('keeps its details and its cause', () => {
    const cause = new Error('ECONNRESET');
    const error = new PerdureError('model_network', 'no reply', {
      provider: 'openai',
      http_status: 520,
      retry_after_ms: 7,
      cause,
    });
    expect(error).toMatchObject({
      code: 'model_network',
      provider: 'openai',
      http_status: 520,
      retry_after_ms: 7,
      cause,
    });
  });

  it('is known by its name and code, whatever realm made it', () => {
    const foreign = Object.assign(new Error('x'), { name: 'PerdureError', code: 'internal' });
    expect(isPerdureError(foreign)).toBe(true);
    expect(isPerdureError(new PerdureError('internal', 'x'))).toBe(true);
    expect(isPerdureError(Object.assign(new Error('x'), { name: 'PerdureError', code: 'ENOENT' }))).toBe(false);
    expect(isPerdureError(Object.assign(new Error('x'), { code: 'internal' }))).toBe(false);
    expect(isPerdureError({ name: 'PerdureError', code: 'internal' })).toBe(false);
    expect(isPerdureError(undefined)).toBe(false);
  });
});

describe('a tool’s failure', () => {
  it.each(ToolFailureKind.options)('of kind %s fits the contract, and its text begins with the kind', (kind) => {
    const failure = toolFailure(kind, 'It went wrong.');
    expect(ToolFailure.parse(failure)).toEqual({
      kind,
      message: 'It went wrong.',
      issues: [],
      recovery: failure.recovery,
    });
    expect(failureText(failure)).toMatch(new RegExp(`^${kind}: It went wrong\\.\n[A-Z].*\\.$`));
  });

  it('tells the model to correct a bad call, to find another way, or to finish', () => {
    const advice = (kind: ToolFailureKind) => failureText(toolFailure(kind, 'm')).split('\n').at(-1);
    expect(advice('invalid_call')).toBe('Correct the call and try again.');
    expect(advice('unavailable')).toBe('Correct the call and try again.');
    expect(advice('timeout')).toBe('Do not repeat the same call unchanged; find another way.');
    expect(advice('outcome_unknown')).toBe('Do not repeat the same call unchanged; find another way.');
    expect(advice('capped')).toBe('Call no more tools; answer with what you have.');
    expect(advice('canceled')).toBe('Call no more tools; answer with what you have.');
  });

  it('lists every issue with its path', () => {
    const failure = toolFailure('invalid_call', 'The arguments do not fit.', [
      { path: 'options.depth', message: 'expected a number' },
      { path: '', message: 'unrecognized key "x"' },
    ]);
    expect(failureText(failure)).toBe(
      [
        'invalid_call: The arguments do not fit.',
        '- options.depth: expected a number',
        '- (arguments): unrecognized key "x"',
        'Correct the call and try again.',
      ].join('\n'),
    );
  });
});
