import { describe, expect, it } from 'vitest';
import * as ids from '../../contract/ids.js';

describe('ids', () => {
  it('are derived from one another as the design says', () => {
    expect(ids.streamKey('run_1')).toBe('perdure.run.run_1');
    expect(ids.eventId('run_1', 7)).toBe('run_1:7');
    expect(ids.stepId(2)).toBe('step_2');
    expect(ids.toolCallId(2, 1)).toBe('call_2_1');
    expect(ids.stepIdOfCall('call_12_3')).toBe('step_12');
    expect(ids.stepIdOfCall('toolu_1')).toBeUndefined();
    expect(ids.idInTree('run_1/call_1_1', 'step_2')).toBe('run_1/call_1_1:step_2');
    expect(ids.blockId('step_2', 1)).toBe('step_2.block_1');
    expect(ids.idempotencyKey('run_1', 'call_2_1')).toBe('run_1/call_2_1');
    expect(ids.toolName('web.pages.read_web_page')).toBe('read_web_page');
  });

  it.each(['demo.assistant', 'd.a', 'demo_2.agent_v1'])('%j is an agent id', (id) => {
    expect(id).toMatch(ids.AGENT_ID_PATTERN);
  });

  it.each([
    'demo',
    'demo.',
    '.assistant',
    'Demo.assistant',
    'demo.2',
    'demo.a-b',
    'a.b.c',
    'demo.a\n',
    ' demo.a',
    'demo._a',
    '',
  ])('%j is no agent id', (id) => {
    expect(id).not.toMatch(ids.AGENT_ID_PATTERN);
  });

  it.each(['web.pages.read_web_page', 'a.b.c', 'a1.b2.c3_', 'client.declared.client_lookUp2'])(
    '%j is a tool id',
    (id) => {
      expect(id).toMatch(ids.TOOL_ID_PATTERN);
    },
  );

  it.each([
    'web.pages',
    'a.b.c.d',
    'web.pages.',
    'web.pages.Read',
    'web.pages.client_Read',
    'client.declared.lookUp',
    'web.pages.read-page',
    'a..c',
    'a.b.1',
    'a.b.c\n',
    'ä.b.c',
  ])('%j is no tool id', (id) => {
    expect(id).not.toMatch(ids.TOOL_ID_PATTERN);
  });

  it.each(['order-17:2026.03', 'R', '0', 'a'.repeat(200)])('%j is a run id that a caller may choose', (id) => {
    expect(id).toMatch(ids.CALLER_RUN_ID_PATTERN);
  });

  it.each(['a/b', '', '-a', '.a', 'a b', 'a'.repeat(201), 'a\n', 'ü', '../a'])(
    '%j is no run id that a caller may choose',
    (id) => {
      expect(id).not.toMatch(ids.CALLER_RUN_ID_PATTERN);
    },
  );

  it('tell a child of a caller’s run from any run that a caller can name', () => {
    expect(ids.idempotencyKey('run_1', 'call_2_1')).not.toMatch(ids.CALLER_RUN_ID_PATTERN);
  });
});
