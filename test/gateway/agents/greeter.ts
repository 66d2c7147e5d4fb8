/** What the tests of stored agents share. */
import { expect } from 'vitest';
import { ROUTES } from '../../../gateway/routes/table.js';
import { script } from '../../support/test-agents.js';
import type { Answer } from '../gateway-world.js';
import { said } from '../threads/thread-gateway.js';

/** An agent that greets whomever it is told to. */
export function greeter(name: string, more: object = {}) {
  return {
    name,
    request_template: { messages: [said(script([{ text: 'Hello, {{who}}.' }]))] },
    variables: [{ name: 'who' }],
    ...more,
  };
}

/** What the table promises of a route is what it gives. */
export function isDescribed(operation: string, answer: Answer): void {
  const reply = ROUTES.find((route) => route.operation === operation)?.replies[answer.status];
  expect(reply, `${operation} answered ${answer.status}: ${answer.text}`).toBeDefined();
  expect(reply?.schema?.safeParse(answer.body).error?.issues ?? []).toEqual([]);
}
