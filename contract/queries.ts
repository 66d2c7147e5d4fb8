/** What the run's queries take and give. Types only. */
import type { LiveEvent } from './live-events.js';
import type { Page, PageRequest } from './pages.js';

/** In the answer of a query: the number of the event with which the last workflow task began that it knows of. */
export interface AsOf {
  as_of?: number;
}

/** `read_log`: pages of durable events, and with them the live events that came by signal since `live_from`. */
export interface LogPageRequest extends PageRequest {
  live_from?: number;
}

export interface LogPage extends Page, AsOf {
  /** The log has its `run_completed`. */
  ended: boolean;
  /** The run's live events come by signal, so polling brings them. */
  signal_live: boolean;
  live: LiveEvent[];
  /** The `live_from` of the next read. */
  live_next: number;
}

/** `cancel`, as an update or a signal. */
export interface CancelRequest {
  reason?: string;
  note?: string;
}
