/**
 * Where a run's artefact is served, from the gateway's root. The log has no addresses: they are put in as it is told,
 * for readers of dialects that have a field for one.
 */
import type { StreamEvent } from '../contract/live-events.js';
import { showingOf } from '../contract/profiles.js';
import type { StreamProfile } from '../contract/profiles.js';

export function artefactUrl(runId: string, artefact: string, profile: string | null): string {
  const search = profile === null ? '' : `?profile=${encodeURIComponent(profile)}`;
  return `/v1/runs/${encodeURIComponent(runId)}/artefacts/${encodeURIComponent(artefact)}${search}`;
}

/** Whether a reader of this profile gets files: one who may not know their names may not have them either. */
export function showsFiles(profile: StreamProfile): boolean {
  return showingOf(profile, 'file_generated') === 'include';
}

/** What a stream's reader asked for is asked for again by the address: it is served through the same profile. */
export function addressFiles(profile: StreamProfile, asked: string | null): (event: StreamEvent) => StreamEvent {
  if (!showsFiles(profile)) return (event) => event;
  return (event) =>
    event.type === 'file_generated' ? { ...event, url: artefactUrl(event.run_id, event.file_id, asked) } : event;
}
