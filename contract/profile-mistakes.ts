/** What is wrong with a stream profile whose every field may be right. */
import type { EventKind } from './profiles.js';

/** Per kind of event, the fields that can be blanked. */
type Blanks = Readonly<Record<EventKind, Readonly<Record<string, unknown>>>>;
/** A live kind, and the durable kind and field that say the same in the end. */
type Pieces = readonly (readonly [piece: EventKind, whole: EventKind, field: string])[];

/** The shape may be anything: it is checked beside. */
export function* contradictions(
  given: unknown,
  blanks: Blanks,
  pieces: Pieces,
): Generator<{ path: string[]; message: string }> {
  const record = (value: unknown) =>
    (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const { kinds: kindsGiven, redact: redactGiven, default: defaultGiven } = record(given);
  const [kinds, redact] = [record(kindsGiven), record(redactGiven)];
  const showing = (kind: EventKind) => kinds[kind] ?? defaultGiven ?? 'omit';
  const fields = (kind: string) => (Array.isArray(redact[kind]) ? (redact[kind] as unknown[]) : []);
  if (showing('run_completed') === 'omit') {
    const message = 'cannot be omitted, nor left to a default of "omit": say "include" or "redact"';
    yield { path: ['kinds', 'run_completed'], message };
  }
  for (const [kind, how] of Object.entries(kinds)) {
    if (how === 'redact' && !(kind in redact)) {
      yield { path: ['redact', kind], message: `must name the fields to blank, since kinds.${kind} is "redact"` };
    }
  }
  for (const kind of Object.keys(redact).filter((name): name is EventKind => name in blanks)) {
    if (kinds[kind] !== 'redact') {
      yield { path: ['redact', kind], message: `has no effect unless kinds.${kind} is "redact"` };
    }
    const known = Object.keys(blanks[kind]);
    for (const field of fields(kind).filter((name) => !known.includes(name as string))) {
      const message = `"${String(field)}" cannot be blanked; ${known.length === 0 ? 'no field of it can' : `only ${known.join(', ')} can`}`;
      yield { path: ['redact', kind], message };
    }
  }
  for (const [piece, whole, field] of pieces) {
    const hides = (kind: EventKind, name: string) => showing(kind) === 'redact' && fields(kind).includes(name);
    const hidden = showing(whole) === 'omit' || hides(whole, field);
    if (hidden && showing(piece) !== 'omit' && !hides(piece, 'text')) {
      yield {
        path: ['kinds', piece],
        message: `would show piece by piece what ${whole} does not show: omit it, or redact its text`,
      };
    }
    if (!hidden && hides(piece, 'text')) {
      yield {
        path: ['kinds', piece],
        message: `blanks piece by piece what ${whole} shows: omit it, or redact ${whole}.${field} too`,
      };
    }
  }
}
