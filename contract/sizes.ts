/** Sizes, in one place. No zod here. */

/** Tool outputs and media parts above this are kept in the artefact store and referenced. */
export const INLINE_LIMIT_BYTES = 64 * 1024;
/** A run's whole input, after media parts became references. Temporal refuses payloads of 2 MB. */
export const INPUT_LIMIT_BYTES = 1024 * 1024;
/** Payloads above this go through external storage. */
export const EXTERNAL_STORAGE_THRESHOLD_BYTES = 128 * 1024;
/** One page of a query, in UTF-16 code units: below the threshold, or each read would write a blob. */
export const PAGE_CHARS = 32 * 1024;
/** The largest page that stays below it, as it is encoded; there is room for what is around it. */
export const LARGE_PAGE_BYTES = EXTERNAL_STORAGE_THRESHOLD_BYTES - 16 * 1024;
/** Messages that go to a thread together, and their characters: below what leaves history. */
export const SEND_BATCH_MESSAGES = 100;
export const SEND_BATCH_CHARS = 64 * 1024;
/** All that a thread holds: its record, and the messages that wait. What its last turn says may come on top. */
export const THREAD_BYTES = 32 * 1024 * 1024;
/** Messages that wait for their turn in a thread, where the configuration does not say how many may; their part of those bytes. */
export const QUEUED_MESSAGES = 2_000;
export const QUEUED_PART = 1 / 4;
/** Tools that a client declares: of a run, and of a thread over all that is said to it. */
export const CLIENT_TOOLS = 128;
/** Live text that a run holds for readers who poll (the `temporal` channel): that of one step. */
export const LIVE_BUFFER_CHARS = 2 * 1024 * 1024;
/** What one model call may return: text, reasoning and the arguments of all its tool calls. */
export const COMPLETION_LIMIT_BYTES = 1024 * 1024;
/** The template of a stored agent with its values filled in: room for each of its fields. */
export const FILLED_TEMPLATE_BYTES = 2 * INPUT_LIMIT_BYTES;
/** All stored agents of an org, in characters of their JSON: a list reads them all. */
export const STORED_AGENTS_CHARS = 8 * 1024 * 1024;
/** Objects, lists, texts and numbers of one body: what checks it says a sentence about each. */
export const BODY_VALUES = 100_000;
/** Mistakes that are named in one answer; the others are counted. */
export const NAMED_ISSUES = 50;
/** What a model reads of an output that was trimmed. */
export const TRIMMED_CHARS = 8 * 1024;

/** Texts that are counted in characters, as the published shapes have it. */
export const CHARACTER_LIMITS = {
  title: 200,
  /** Runs are found by it: Temporal's index takes 2,048 bytes. */
  thread_id: 500,
  feedback_notes: 10_000,
  agent_name: 200,
  agent_description: 10_000,
  /** Of a tool that others describe: models pay for each of them. */
  tool_description: 16 * 1024,
  variable_name: 200,
} as const;

/**
 * What a caller may say, by the name of the field: bytes of its text, or of its JSON. Whatever enters is measured by
 * this table and by no other: by a client and the gateway before anything is written, and once more by the run or the
 * thread that it is for, since anyone who reaches the server can send it a signal or an update.
 */
export const TEXT_LIMITS = {
  /** Of a cancel, of a decision. One that comes by signal is cut. */
  note: 4 * 1024,
  /** Names of people, pauses, profiles and the like. */
  answered_by: 1024,
  await_id: 1024,
  by: 16 * 1024,
  mark: 1024,
  key: 1024,
  org_id: 1024,
  created_by: 1024,
  model_profile: 1024,
  input_name: 1024,
  /** Of a run: Temporal's index takes 2,048 bytes of it. */
  thread_id: 2 * 1024,
  roles: 16 * 1024,
  answer: 256 * 1024,
  /** Of the caller's tools, those that come together: what they give, under whatever ids. */
  results: INPUT_LIMIT_BYTES,
  tool_results: INPUT_LIMIT_BYTES,
  /** Pauses that a child tells its parent of. */
  changes: INPUT_LIMIT_BYTES,
  /** Whatever its characters are. */
  title: 3 * CHARACTER_LIMITS.title,
  metadata: 16 * 1024,
  policy: 64 * 1024,
  goals: 64 * 1024,
  /** The runtime's own, from a thread to its turn and from a run to its child. */
  tool_state: INPUT_LIMIT_BYTES,
  client_tools: 256 * 1024,
  /** Of a turn: they are in its request, and in what every model call reads. */
  system_prompt: 16 * 1024,
  analysis_scope: 16 * 1024,
  client_context: 16 * 1024,
  /** Of a stored agent, with their defaults; and what a launch gives for them. */
  variables: 256 * 1024,
  values: 256 * 1024,
  /** Beside them there is room for goals and tools. */
  message: INPUT_LIMIT_BYTES - INLINE_LIMIT_BYTES,
  messages: INPUT_LIMIT_BYTES - INLINE_LIMIT_BYTES,
} as const;

export interface Oversized {
  field: string;
  message: string;
}

/** The first field of the table that is larger than it may be. Fields that are not in the table are not looked at. */
export function oversized(given: unknown): Oversized | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  for (const [field, limit] of Object.entries(TEXT_LIMITS)) {
    const value = Object.hasOwn(given, field) ? (given as Record<string, unknown>)[field] : undefined;
    const bytes = bytesOf(field === 'results' || field === 'tool_results' ? outputsOf(value) : value);
    if (bytes > limit) return { field, message: `has ${bytes} bytes; at most ${limit} can be taken` };
  }
  return undefined;
}

/** As much of a text as fits, and a sign that there was more. */
export function cutText(text: string, limit: number): string {
  if (utf8Bytes(text) <= limit) return text;
  let cut = text.slice(0, limit - 3);
  while (utf8Bytes(cut) > limit - 3) cut = cut.slice(0, Math.floor(cut.length * 0.9));
  return `${isHighSurrogate(cut.charCodeAt(cut.length - 1)) ? cut.slice(0, -1) : cut}…`;
}

function outputsOf(results: unknown): unknown {
  return Array.isArray(results)
    ? results.map((result: { output?: unknown } | null) => result?.output ?? null)
    : results;
}

/** As a text, or as JSON. */
export function bytesOf(value: unknown): number {
  if (value == null) return 0;
  if (typeof value === 'string') return utf8Bytes(value);
  try {
    return utf8Bytes(JSON.stringify(value));
  } catch {
    // It is nested too deep to be written, so it is too large to be kept.
    return Number.POSITIVE_INFINITY;
  }
}

/** Bytes of a string in UTF-8, counted without Node's Buffer. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
