/**
 * What the transport adds to an event before it is told in a dialect that has a place for it: the log has no addresses
 * and no large pictures. `perdure` is the log itself, and gets nothing.
 */
import { scopeOf } from '../contract/artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { EventOf } from '../contract/events.js';
import type { StreamEvent } from '../contract/live-events.js';
import { ARTEFACT_URL_PREFIX } from '../contract/names.js';
import { showingOf } from '../contract/profiles.js';
import type { StreamProfile } from '../contract/profiles.js';

export interface Dressing {
  /** Absent: there are no addresses, and files come as they are. */
  links: { urlOf(run: string, artefact: string, org: string): string } | undefined;
  /** Whose the runs are; '' where they are nobody's. */
  org: string;
  artefacts: Pick<ArtefactStore, 'of' | 'unscoped'>;
  /** Told of what could not be read. */
  failed(runId: string, error: unknown): void;
}

export type Dress = (event: StreamEvent) => StreamEvent | Promise<StreamEvent>;

/** Of one file or picture: what is larger is fetched, by whoever may see the run. */
const MOST_INLINE_BYTES = 4 * 1024 * 1024;

/** Whether a reader of this profile gets files: one who may not know their names may not have them either. */
export function showsFiles(profile: StreamProfile): boolean {
  return showingOf(profile, 'file_generated') === 'include';
}

export function dressFor(dialect: string, profile: StreamProfile, dressing: Dressing | undefined): Dress {
  if (dressing === undefined) return (event) => event;
  const dressers = DRESSERS[dialect] ?? {};
  const dressed = (event: StreamEvent) => {
    if (event.type === 'file_generated' && showsFiles(profile)) return dressers.file?.(event, dressing) ?? event;
    if (event.type === 'tool_result') return dressers.result?.(event, dressing) ?? event;
    return event;
  };
  return async (event) => {
    try {
      return await dressed(event);
    } catch (error) {
      // A picture that cannot be had now is no reason to keep the log from its reader.
      dressing.failed(event.run_id, error);
      return event;
    }
  };
}

interface Dressers {
  file?(event: EventOf<'file_generated'>, dressing: Dressing): StreamEvent | Promise<StreamEvent>;
  result?(event: EventOf<'tool_result'>, dressing: Dressing): StreamEvent | Promise<StreamEvent>;
}

const DRESSERS: Readonly<Record<string, Dressers>> = {
  event_contract: { file: withFile },
  task_steps: { file: withAddress, result: withImageAddresses },
  agent_events: { result: withScreenshot },
};

function withAddress(event: EventOf<'file_generated'>, { links, org }: Dressing): StreamEvent {
  return links === undefined ? event : { ...event, url: links.urlOf(event.run_id, event.file_id, org) };
}

/** The contract takes the content itself where there is no address. */
async function withFile(event: EventOf<'file_generated'>, dressing: Dressing): Promise<StreamEvent> {
  if (dressing.links !== undefined) return withAddress(event, dressing);
  const base64 = await readInline(event.run_id, event.file_id, dressing);
  return base64 === undefined ? event : Object.assign({ ...event }, { base64 });
}

function withImageAddresses(event: EventOf<'tool_result'>, { links, org }: Dressing): StreamEvent {
  const { content } = event;
  if (links === undefined || typeof content === 'string') return event;
  const parts = content.map((part) => {
    const id = part.type === 'image_url' ? artefactIn(part.image_url.url) : undefined;
    if (part.type !== 'image_url' || id === undefined) return part;
    return { ...part, image_url: { ...part.image_url, url: links.urlOf(event.run_id, id, org) } };
  });
  return { ...event, content: parts };
}

/** One that is in the log, the dialect finds itself. */
async function withScreenshot(event: EventOf<'tool_result'>, dressing: Dressing): Promise<StreamEvent> {
  const { content, screenshot_base64 } = event;
  if (screenshot_base64 !== undefined || typeof content === 'string') return event;
  const [first] = content.flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []));
  const id = first === undefined ? undefined : artefactIn(first);
  const base64 = id === undefined ? undefined : await readInline(event.run_id, id, dressing);
  return base64 === undefined ? event : { ...event, screenshot_base64: base64 };
}

export function artefactIn(url: string): string | undefined {
  return url.startsWith(ARTEFACT_URL_PREFIX) ? url.slice(ARTEFACT_URL_PREFIX.length) : undefined;
}

async function readInline(runId: string, id: string, { artefacts }: Dressing): Promise<string | undefined> {
  for (const place of [artefacts.of(scopeOf(runId)), artefacts.unscoped]) {
    const info = await place.info(id);
    if (info === undefined) continue;
    if (info.byte_size > MOST_INLINE_BYTES) return undefined;
    return Buffer.from(await place.read(id)).toString('base64');
  }
  return undefined;
}
