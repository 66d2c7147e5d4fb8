/**
 * Every kind of event under every profile that ships, locked in `golden-profiles/`: what is emitted, or null. To write
 * them anew after a change on purpose: `WRITE_GOLDEN_PROFILES=1 npx vitest run test/contract/profiles.test.ts`, then
 * read the difference.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DurableEvent } from '../../contract/events.js';
import { LiveEvent, StreamMarker } from '../../contract/live-events.js';
import { applyProfile, PROFILES, resolveProfile, StreamProfile } from '../../contract/profiles.js';
import type { EventKind, ProfileName, StreamProfileInput } from '../../contract/profiles.js';

const golden = new Map(
  ['durable', 'live', 'markers'].flatMap((folder) =>
    readdirSync(join(import.meta.dirname, 'golden', folder))
      .toSorted()
      .map((file) => [`${folder}/${file}`, read(join('golden', folder, file)) as DurableEvent] as const),
  ),
);
const names = Object.keys(PROFILES) as ProfileName[];
const events = [...golden].filter(([file]) => !file.startsWith('markers/'));
const kinds = [...new Set(events.map(([, event]) => event.type))] as EventKind[];

function read(path: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, path), 'utf8'));
}

function parserOf(file: string) {
  if (file.startsWith('durable/')) return DurableEvent;
  return file.startsWith('live/') ? LiveEvent : StreamMarker;
}

/** The values at a path, through lists. */
function valuesAt(value: unknown, [field, ...rest]: string[]): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, [field as string, ...rest]));
  if (field === undefined) return [value];
  if (typeof value !== 'object' || value === null || !(field in value)) return [];
  const inner = (value as Record<string, unknown>)[field];
  return rest.length === 0 ? [inner] : valuesAt(inner, rest);
}

/** Every text inside a value, but the types of parts: these are words of the contract. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, inner]) => (field === 'type' ? [] : textsIn(inner)));
}

function everyField(kind: EventKind): string[] {
  const mistake = StreamProfile.safeParse({
    kinds: { run_completed: 'include', [kind]: 'redact' },
    redact: { [kind]: ['no such field'] },
  });
  const message = mistake.error?.issues.map((issue) => issue.message).find((text) => text.includes('no such field'));
  return /only (.*) can$/.exec(message ?? '')?.[1]?.split(', ') ?? [];
}

describe.each(names)('the profile %s', (name) => {
  const profile = PROFILES[name];
  const emitted = new Map([...golden].map(([file, event]) => [file, applyProfile(profile, event) ?? null]));
  const path = join(import.meta.dirname, 'golden-profiles', `${name}.json`);
  // oxlint-disable-next-line node/no-process-env
  if (process.env['WRITE_GOLDEN_PROFILES'] !== undefined) {
    writeFileSync(path, `${JSON.stringify(Object.fromEntries(emitted), null, 2)}\n`);
  }
  const locked = read(join('golden-profiles', `${name}.json`)) as Record<string, unknown>;

  it('has a line for every golden event, and none is left over', () => {
    expect(Object.keys(locked).toSorted()).toEqual([...golden.keys()].toSorted());
  });

  it.each([...golden.keys()])('emits %s byte for byte as it is locked, and its parser takes it', (file) => {
    const event = emitted.get(file);
    expect(JSON.stringify(event)).toBe(JSON.stringify(locked[file]));
    if (event !== null) expect(JSON.stringify(parserOf(file).parse(event))).toBe(JSON.stringify(event));
  });

  it('shows nowhere what it blanks', () => {
    const shown = textsIn([...emitted.values()]);
    let blanked = 0;
    for (const [file, event] of events) {
      // Its parts are those of the golden results as well, which are shown there.
      if (name === 'event_contract' && file === 'durable/run_started-parts.json') continue;
      for (const field of profile.kinds[event.type] === 'redact' ? (profile.redact[event.type] ?? []) : []) {
        const now = valuesAt(emitted.get(file), field.split('.')).map((value) => JSON.stringify(value));
        for (const original of valuesAt(event, field.split('.')).filter((value) => value !== '{}')) {
          expect(now).not.toContain(JSON.stringify(original));
          for (const secret of textsIn(original)) {
            blanked += 1;
            // A short word may be part of another; as a value of its own it may not be there.
            const leaks = shown.filter((text) => (secret.length < 6 ? text === secret : text.includes(secret)));
            expect(leaks, `${file}: ${field}`).toEqual([]);
          }
        }
      }
    }
    expect(blanked > 10).toBe(name !== 'agent_debug');
  });

  it('never leaves out the end of a run', () => {
    for (const status of ['success', 'failed', 'canceled']) {
      expect(emitted.get(`durable/run_completed.${status}.json`)).toMatchObject({ type: 'run_completed', status });
    }
  });
});

describe('the profiles that ship', () => {
  it('differ from one another', () => {
    const shown = names.map((name) => events.filter(([, event]) => applyProfile(PROFILES[name], event)).length);
    expect(new Set(shown).size).toBe(names.length);
    expect(shown[names.indexOf('agent_debug')]).toBe(events.length);
  });

  it('give a user the safe message of a failure, and not what is for operators', () => {
    const failed = golden.get('durable/run_completed.failed.json') as DurableEvent;
    const shown = applyProfile(PROFILES.user_chat, failed);
    expect(shown).toMatchObject({
      failure: { message: 'The model is receiving too many requests. Please try again in a moment.' },
    });
    expect(JSON.stringify(shown)).not.toContain('openai');
  });

  it.each(['run_phase_changed', 'tool_progress'] as const)('leave the event as it was given: %s', (type) => {
    const event = golden.get(`durable/${type}.json`) as DurableEvent;
    const before = JSON.stringify(event);
    for (const name of names) applyProfile(PROFILES[name], event);
    expect(JSON.stringify(event)).toBe(before);
  });
});

describe('redaction', () => {
  it.each(kinds)('of every field of %s that can be blanked leaves an event that its parser takes', (kind) => {
    const fields = everyField(kind);
    if (fields.length === 0) return;
    const profile = { kinds: { [kind]: 'redact' }, default: 'include', children: 'linked', redact: { [kind]: fields } };
    for (const [file, event] of events.filter(([, candidate]) => candidate.type === kind)) {
      const shown = applyProfile(profile as StreamProfile, event);
      expect(JSON.stringify(parserOf(file).parse(shown))).toBe(JSON.stringify(shown));
    }
  });

  it.each(kinds)('of %s leaves a field out or empties it, and never writes a word into it', (kind) => {
    for (const field of everyField(kind)) {
      const redact = { [kind]: [field] };
      const profile = { kinds: { [kind]: 'redact' }, default: 'include', children: 'linked', redact };
      for (const [, event] of events.filter(([, candidate]) => candidate.type === kind)) {
        for (const value of valuesAt(applyProfile(profile as StreamProfile, event), field.split('.'))) {
          // Arguments are JSON as a text: an empty object.
          expect(['', '{}', '[]', '{}'], `${kind}.${field}`).toContain(
            typeof value === 'string' ? value : JSON.stringify(value),
          );
        }
      }
    }
  });

  it('treats an event and its live twin alike', () => {
    for (const kind of ['tool_progress', 'tool_retry', 'attempt_retracted']) {
      const [durable, live] = ['durable', 'live'].map((folder) => golden.get(`${folder}/${kind}.json`) as DurableEvent);
      for (const name of names) {
        const [one, other] = [durable, live].map((event) => applyProfile(PROFILES[name], event as DurableEvent));
        expect(one === undefined).toBe(other === undefined);
        for (const field of ['message', 'reason', 'attempt'] as const) {
          expect((one as Record<string, unknown> | undefined)?.[field]).toBe(
            (other as Record<string, unknown> | undefined)?.[field],
          );
        }
      }
    }
  });
});

describe('children', () => {
  const shownUnder = (children: 'invisible' | 'linked' | 'flattened', file: string) =>
    applyProfile({ ...PROFILES.agent_debug, children }, golden.get(`durable/${file}.json`) as DurableEvent);

  it.each(['agent_run_started', 'child_await_changed'])('%s is shown unless they are invisible', (file) => {
    expect(shownUnder('invisible', file)).toBeUndefined();
    expect(shownUnder('linked', file)).toBeDefined();
    expect(shownUnder('flattened', file)).toBeDefined();
  });

  it('leave no link in a result when they are invisible', () => {
    expect(shownUnder('invisible', 'tool_result.success')).not.toHaveProperty('link');
    expect(shownUnder('linked', 'tool_result.success')).toHaveProperty('link');
  });
});

describe('a profile of one’s own', () => {
  it('may be short: what it does not name is left out, children are linked', () => {
    expect(resolveProfile({ kinds: { run_completed: 'include', text_end: 'include' } })).toEqual({
      kinds: { run_completed: 'include', text_end: 'include' },
      default: 'omit',
      children: 'linked',
      redact: {},
    });
  });

  const ok = { run_completed: 'include' } as const;
  it.each<[string, unknown, RegExp]>([
    ['an end that is omitted', { kinds: { run_completed: 'omit' }, default: 'include' }, /kinds\.run_completed/],
    ['an end that is left to a default of omit', { kinds: {} }, /kinds\.run_completed: cannot be omitted/],
    ['a kind that does not exist', { kinds: { ...ok, text_ended: 'omit' } }, /kinds: Unrecognized key: "text_ended"/],
    ['a word that is none of the three', { kinds: { ...ok, text_end: 'hide' } }, /kinds\.text_end/],
    ['a wrong default', { kinds: ok, default: 'redact' }, /profile\.default/],
    ['a wrong policy for children', { kinds: ok, children: 'all' }, /profile\.children/],
    ['a field too many', { kinds: ok, extra: 1 }, /"extra"/],
    ['redact without fields', { kinds: { ...ok, tool_result: 'redact' } }, /redact\.tool_result: must name/],
    ['an empty list', { kinds: { ...ok, tool_result: 'redact' }, redact: { tool_result: [] } }, /must name a field/],
    ['fields of a kind that is not redacted', { kinds: ok, redact: { step_started: ['title'] } }, /has no effect/],
    [
      'a field that cannot be blanked',
      { kinds: { ...ok, tool_result: 'redact' }, redact: { tool_result: ['duration_ms'] } },
      /redact\.tool_result: "duration_ms" cannot be blanked; only content, /,
    ],
    ['pieces of a text that is hidden', { kinds: { ...ok, text_chunk: 'include' } }, /kinds\.text_chunk: would show/],
    [
      'arguments that show as they are written',
      {
        kinds: { ...ok, tool_requested: 'redact', tool_input_chunk: 'include' },
        redact: { tool_requested: ['arguments'] },
      },
      /kinds\.tool_input_chunk: would show/,
    ],
    [
      'pieces that are blanked of a text that is shown',
      { kinds: { ...ok, text_end: 'include', text_chunk: 'redact' }, redact: { text_chunk: ['text'] } },
      /kinds\.text_chunk: blanks/,
    ],
    ['no object at all', 7, /the stream profile is invalid/],
  ])('is refused with %s', (_what, given, message) => {
    expect(() => resolveProfile(given as StreamProfileInput)).toThrow(message);
  });

  it('has all its mistakes named at once', () => {
    const given = { kinds: { run_completed: 'omit', text_end: 'hide', nonsense: 'omit' }, default: 1, children: 'x' };
    const message = messageOf(() => resolveProfile(given as unknown as StreamProfileInput));
    for (const part of ['kinds.run_completed', 'kinds.text_end', 'nonsense', 'profile.default', 'profile.children']) {
      expect(message).toContain(part);
    }
  });

  it('is found by name only if it ships', () => {
    expect(resolveProfile('metrics')).toBe(PROFILES.metrics);
    for (const name of ['everything', 'toString', '']) {
      expect(() => resolveProfile(name)).toThrow(
        /no stream profile .* only user_chat, agent_debug, event_contract, metrics/,
      );
    }
  });

  it('that was never checked still shows the end of a run, blanked', () => {
    const unchecked: StreamProfile = { kinds: {}, default: 'omit', children: 'linked', redact: {} };
    const ended = golden.get('durable/run_completed.success.json') as DurableEvent;
    expect(applyProfile(unchecked, ended)).toMatchObject({ type: 'run_completed', status: 'success', answer: '' });
  });
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}
