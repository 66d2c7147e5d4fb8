/** Whatever a profile blanks or leaves out of an event, no dialect says: neither in a line nor in a warning. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { provenance } from '../../contract/events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { applyProfile, PROFILES } from '../../contract/profiles.js';
import type { EventKind, ProfileName } from '../../contract/profiles.js';
import { projectTaskSteps } from '../../dialects/index.js';
import { isDurable } from './resume.js';
import { createTeller, dialectNames } from './tell-all.js';

const golden = join(import.meta.dirname, '../contract/golden');
const events = ['durable', 'live'].flatMap((folder) =>
  readdirSync(join(golden, folder))
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(golden, folder, file), 'utf8')) as StreamEvent & { type: EventKind }),
);
/** What says whose an event is and which; `status` and `kind` choose among the shapes of one type. */
const envelopeFields = [
  'type',
  'seq',
  'event_id',
  'at',
  'status',
  'kind',
  'phase',
  'state',
  'live_id',
  'block_id',
  'attempt',
  'index',
  ...Object.keys(provenance),
];
const profiles = Object.keys(PROFILES) as ProfileName[];

let secrets = 0;
/** Numbers are secrets too. */
function secretLike(value: unknown): unknown {
  secrets += 1;
  return typeof value === 'number' ? 700_000_000 + secrets : `SECRET${secrets}.`;
}

/** Every text and number inside becomes a secret; arguments stay JSON, since dialects look into them. */
function poisoned(value: unknown, found: string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, found));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, key === 'type' ? inner : poisoned(inner, found)]),
    );
  }
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const secret = secretLike(value);
  found.push(String(secret));
  if (typeof value !== 'string' || !value.startsWith('{')) return secret;
  return JSON.stringify({ code: secret, entry: secret, operation: 'append' });
}

function poisonedAt(value: unknown, [field = '', ...rest]: string[], found: string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => poisonedAt(item, [field, ...rest], found));
  if (typeof value !== 'object' || value === null || !(field in value)) return value;
  const inner = (value as Record<string, unknown>)[field];
  return { ...value, [field]: rest.length === 0 ? poisoned(inner, found) : poisonedAt(inner, rest, found) };
}

/** The event with a secret in each field that this profile does not show. */
function withSecrets(name: ProfileName, event: StreamEvent & { type: EventKind }, found: string[]): StreamEvent {
  const profile = PROFILES[name];
  const showing = profile.kinds[event.type] ?? profile.default;
  const hidden =
    showing === 'redact'
      ? (profile.redact[event.type] ?? [])
      : showing === 'omit'
        ? Object.keys(event).filter((field) => !envelopeFields.includes(field))
        : [];
  return hidden.reduce<unknown>((value, field) => poisonedAt(value, field.split('.'), found), event) as StreamEvent;
}

/** The same events for each tool whose family a dialect treats in its own way. */
const TOOLS = [
  'web.pages.read_web_page',
  'lab.python.code_interpreter',
  'desk.memory.append_scratchpad',
  'shop.carts.add_item',
];

function asTool(event: StreamEvent & { type: EventKind }, tool: string): StreamEvent & { type: EventKind } {
  const text = JSON.stringify(event).replaceAll('web.pages.read_web_page', tool);
  return JSON.parse(text) as StreamEvent & { type: EventKind };
}

describe.each(profiles)('the profile %s', (name) => {
  it.each(dialectNames)('keeps its secrets in %s', (dialect) => {
    let hidden = 0;
    for (const tool of TOOLS) {
      const found: string[] = [];
      const stream = events.map((event) => withSecrets(name, asTool(event, tool), found));
      const shown = stream.flatMap((event) => applyProfile(PROFILES[name], event) ?? []);
      const teller = createTeller(dialect);
      const said = JSON.stringify(shown.map((event) => teller.tell(event)));
      const steps = JSON.stringify(projectTaskSteps(shown.filter(isDurable)));
      for (const secret of found) expect(`${said}${steps}`.includes(secret), secret).toBe(false);
      hidden += found.length;
    }
    expect(hidden > 100).toBe(name !== 'agent_debug');
  });
});

it('would be noticed: without a profile every dialect says some of the secrets of user_chat', () => {
  for (const dialect of dialectNames) {
    const found: string[] = [];
    const stream = events.map((event) => withSecrets('user_chat', event, found));
    const teller = createTeller(dialect);
    const said = JSON.stringify(stream.map((event) => teller.tell(event)));
    expect(found.filter((secret) => said.includes(secret)).length, dialect).toBeGreaterThan(5);
  }
});
