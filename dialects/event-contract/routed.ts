/** Where a consumer's router sends things: one for each place in a user interface. */
import type { UiStatus } from './vocabulary.js';

export type Routed =
  | { to: 'chat'; run_id: string; text: string }
  | { to: 'reasoning'; run_id: string; text: string }
  | { to: 'web_status'; run_id: string; tool: string; status: UiStatus; message: string }
  | { to: 'research_status'; run_id: string; tool: string; status: UiStatus; activity: string }
  | {
      to: 'scratchpad';
      run_id: string;
      operation: 'read' | 'append' | 'update';
      status: UiStatus;
      tool: string | null;
      activity: string | null;
      entry: string | null;
    }
  | {
      to: 'file';
      run_id: string;
      file_id: string;
      filename: string;
      mime_type: string;
      url?: string;
      base64?: string;
    }
  | { to: 'code'; run_id: string; text: string }
  | { to: 'code_output'; run_id: string; text: string }
  /** The run is over, and so is the streaming of its message. */
  | { to: 'error'; run_id: string; error: string }
  | { to: 'done'; run_id: string }
  /** A line that is no event: how many there were so far, and what of it can be shown to a developer. */
  | { to: 'broken'; count: number; line: string; reason: string };

export type WireEvent = Readonly<Record<string, unknown>>;

/** A field of an event from the wire, which may hold anything. */
export function textField(event: WireEvent, field: string): string {
  const value = event[field];
  return typeof value === 'string' ? value : '';
}
