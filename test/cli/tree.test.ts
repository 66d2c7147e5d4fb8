/** `perdure tree` on runs of the trip desk, and how a tree is drawn. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { drawTree } from '../../cli/tree/draw-tree.js';
import type { RunNode } from '../../client/read-tree.js';
import { createLiveTree } from '../../cli/tree/show-tree.js';
import { treeRows } from '../../cli/tree/tree-rows.js';
import { stylesFor } from '../../cli/terminal.js';
import { NO_USAGE } from '../../contract/snapshot.js';
import type { RunSnapshot, ToolSnapshot } from '../../contract/snapshot.js';
import { finished } from './command.js';
import { createFakeTerminal } from './fake-terminal.js';
import { clientTools, openTripDesk } from './trip-desk.js';
import type { TripDesk } from './trip-desk.js';

describe('perdure tree', () => {
  let desk: TripDesk;
  beforeAll(async () => {
    desk = await openTripDesk();
  });
  afterAll(() => desk.stop());

  it('draws the tree as it is, with what to type, and follows it to its end when asked to', async () => {
    const runId = await desk.start('--client-tools', clientTools);
    const paused = await desk.done('tree', runId);
    expect(paused.code).toBe(0);
    expect(paused.stdout).toMatch(
      new RegExp(`^\\? trips\\.desk  ${runId}  executing tools · [\\d.]+ m?s · \\d+ tokens`),
    );
    expect(paused.stdout).toMatch(/└─ \? When do you want to fly to Oslo\? {2}expires in/);
    expect(paused.stdout).toContain(`npx perdure answer ${runId} "12 June" --address `);

    const following = desk.command('tree', runId, '--follow');
    await desk.done('answer', runId, '12 June');
    await following.printed('client_pick_seat');
    const both = await desk.done('tree', runId);
    expect(both.stdout).toMatch(
      new RegExp(`├─ … trips\\.agents\\.find_flight .*\n│  └─ \\? trips\\.flights  ${runId}/call_2_1  executing tools`),
    );
    expect(both.stdout).toMatch(
      new RegExp(`└─ . trips\\.agents\\.find_hotel .*\n   └─ . trips\\.hotels  ${runId}/call_2_2`),
    );

    const child = await desk.done('tree', `${runId}/call_2_1`, '--json');
    const node = JSON.parse(child.stdout) as RunNode;
    expect(node).toMatchObject({ run_id: `${runId}/call_2_1`, agent_id: 'trips.flights', children: [] });
    expect(node.snapshot?.awaits).toMatchObject([{ kind: 'external_tools', run_id: `${runId}/call_2_1` }]);

    await desk.done('answer', runId, '--declined', 'call_2_1');
    await following.printed('may it call trips.bookings.book_trip');
    const [, digest = ''] = /--approve ([0-9a-f]{8}) /.exec((await desk.done('answer', runId)).stdout) ?? [];
    await desk.done('answer', runId, '--approve', digest);
    const { code, stdout } = await finished(following);
    expect(code).toBe(0);
    const last = stdout.trimEnd().split('\n\n').at(-1) ?? '';
    expect(last).toMatch(new RegExp(`^✓ trips\\.desk  ${runId}  success · .* · tree [\\d,]+ tokens, 8 tools, \\$`));
    expect(last).toMatch(/✗ client\.declared\.client_pick_seat .*denied/);
    expect(last).toMatch(/└─ You are going to Oslo\./);

    const json = await desk.done('tree', runId, '--json');
    const tree = JSON.parse(json.stdout) as RunNode;
    expect(tree.children.map(({ agent_id, tool_call_id }) => `${agent_id} ${tool_call_id}`).toSorted()).toEqual([
      'trips.flights call_2_1',
      'trips.hotels call_2_2',
    ]);

    const flattened = await desk.done('inspect', runId, '--events', '--profile', 'agent_debug');
    expect(flattened.stdout).toMatch(/ run_completed +\/call_2_2 success.*\n +\d+ .* tool_result +call_2_2 /);
    const chat = await desk.done('inspect', runId, '--events', '--profile', 'user_chat');
    expect(chat.stdout).toContain('trips.bookings.book_trip {}');

    const inspected = await desk.done('inspect', runId);
    expect(inspected.stdout).toContain(`run ${runId}/call_2_1  trips.flights`);
    expect(inspected.stdout).toMatch(/\ntree {5}9 model calls, 8 tool calls/);
  }, 150_000);

  it('shows open pauses in inspect', async () => {
    const runId = await desk.start();
    const { stdout } = await desk.done('inspect', runId);
    expect(stdout).toContain(`waits for trips.desk  ${runId}  clarification_call_1_1`);
    expect(stdout).toContain(`answer ${runId} "12 June"`);
  });

  it('ends with 2 for a run that does not exist', async () => {
    const { code, stderr } = await desk.done('tree', 'no-such-run');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('there is no run "no-such-run"') });
  });
});

describe('a tree on a terminal', () => {
  const tool = (call: string, state: ToolSnapshot['state'], name = 'a.b.c'): ToolSnapshot => ({
    tool_call_id: call,
    name,
    arguments: '{}',
    state,
  });
  function node(
    run_id: string,
    tools: ToolSnapshot[],
    more: Partial<RunSnapshot> = {},
    children: RunNode[] = [],
  ): RunNode {
    const run = { run_id, agent_id: 'a.agent', root_run_id: 'r' };
    const step = { step_id: 'step_1', step_number: 1, title: '', started_at: '', tools };
    const snapshot = {
      run,
      phase: 'executing_tools',
      status: 'running',
      started_at: new Date(Date.now() - 2_000).toISOString(),
      tail: 1,
      steps: [step],
      awaits: [],
      children: [],
      usage: NO_USAGE,
      ...more,
    } as RunSnapshot;
    const call = run_id.split('/').at(-1) ?? '';
    return { run_id, agent_id: 'a.agent', tool_call_id: call, snapshot, children };
  }
  const over = { phase: 'completed', status: 'success', duration_ms: 5, answer: 'Done.' } as const;

  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is redrawn in place, leaves out what is over when there is no room, and stays whole at the end', () => {
    const terminal = createFakeTerminal(100, 10);
    const shown = createLiveTree(terminal.stream, '');
    const many = Array.from({ length: 12 }, (_, index) => tool(`call_1_${index}`, 'success'));
    shown.show(node('r', [...many, tool('call_2_1', 'scheduled', 'a.b.child')], {}, [node('r/call_2_1', [])]));
    vi.advanceTimersByTime(200);
    expect(terminal.screen()).toMatch(/a\.agent {2}r {2}executing tools · 2\.\d s · 0 tokens, 0 tools/);
    expect(terminal.screen()).toMatch(/└─ . a\.b\.child \{\}\n {3}└─ . a\.agent {2}r\/call_2_1/);
    expect(terminal.screen()).not.toContain('a.b.c {}');
    shown.show(node('r', many, over));
    shown.end();
    expect(terminal.text().match(/a\.b\.c \{\}/g)).toHaveLength(12);
    expect(terminal.text()).toMatch(/^✓ a\.agent[^]*└─ Done\.\n$/);
    expect(terminal.text()).not.toContain('Ctrl-C');
  });

  it('says how many lines do not fit', () => {
    const terminal = createFakeTerminal(80, 8);
    const shown = createLiveTree(terminal.stream, '');
    shown.show(
      node(
        'r',
        Array.from({ length: 12 }, (_, index) => tool(`call_1_${index}`, 'scheduled')),
      ),
    );
    vi.advanceTimersByTime(200);
    // How many fit depends on how long the name of the command is, which is that of the test runner here.
    const screen = terminal.screen();
    const drawn = screen.split('\n').filter((line) => line.includes('a.agent') || line.includes('a.b.c {}')).length;
    expect(drawn).toBeGreaterThan(0);
    expect(screen).toContain(`… ${13 - drawn} more lines: `);
    expect(terminal.text().split('\n').length).toBeLessThanOrEqual(9);
    shown.end();
  });

  it('keeps the end of long run ids and never cuts a command', () => {
    const runId = `${'x'.repeat(60)}/call_1_1`;
    const awaits: RunSnapshot['awaits'] = [{ await_id: 'q', kind: 'clarification', run_id: runId, question: 'Which?' }];
    const rows = treeRows(node(runId, [], { awaits }), {
      now: Date.now(),
      detail: 'all',
      flags: ' --address 127.0.0.1:7233',
    });
    const lines = drawTree(rows, { width: 60, styles: stylesFor({ isTTY: false }), spinner: '…' });
    expect(lines[0]).toMatch(/^\? a\.agent {2}….*\/call_1_1$/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    expect(lines.join('').replaceAll(/[│├└─\s]/g, '')).toContain('"…"--address127.0.0.1:7233');
  });

  it('shows a run that was lost, one that failed, and a child that has no log yet', () => {
    const engine_end = {
      type: 'stream_ended',
      run_id: 'r',
      reason: 'terminated',
      message: 'It was terminated.',
    } as const;
    const failure = { code: 'internal', message: 'm', debug_message: 'it broke', retryable: false };
    const failed = node('r/call_1_1', [], { phase: 'failed', status: 'failed', failure, duration_ms: 1 });
    const starting: RunNode = { run_id: 'r/call_1_2', agent_id: 'a.agent', tool_call_id: 'call_1_2', children: [] };
    const root = node('r', [tool('call_1_1', 'error'), tool('call_1_2', 'scheduled')], {}, [failed, starting]);
    Object.assign(root.snapshot ?? {}, { engine_end });
    const rows = treeRows(root, { now: Date.now(), detail: 'all', flags: '' });
    const text = drawTree(rows, { width: 100, styles: stylesFor({ isTTY: false }), spinner: '…' }).join('\n');
    expect(text).toContain('✗ a.agent  r  terminated');
    expect(text).toContain('✗ internal: it broke');
    expect(text).toContain('… a.agent  r/call_1_2  starting');
    expect(text).toContain('✗ It was terminated.');
  });
});
