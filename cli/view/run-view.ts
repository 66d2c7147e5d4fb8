/** How a run is shown while it goes on. */
import type { StreamEvent } from '../../client/index.js';

export interface RunView {
  event(event: StreamEvent): void;
  /** About the command and not of the run: a server that starts, a worker that is missing; loud is what must be seen. */
  note(line: string, tone?: 'quiet' | 'loud'): void;
  /** What the person at the keyboard can do now. */
  hint(text: string): void;
  /** What is asked of the person at the keyboard, with what they have typed; undefined: nothing any more. */
  prompt(lines: readonly string[] | undefined): void;
  /** The last line. Nothing may be shown after it. */
  end(summary?: RunSummary): void;
}

export interface RunSummary {
  tone: 'good' | 'bad' | 'stopped';
  text: string;
  /** Why, where the outcome alone does not say it. */
  reason?: string;
}
