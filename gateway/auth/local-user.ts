/**
 * Without auth, whoever reaches the port on loopback may do everything: but not web pages of strangers, which reach
 * it through the browser of the person at this machine. A foreign `Origin` (see `page-origin.ts`) gives away a page that
 * writes blindly, a foreign `Host` one that had its own name point here in order to read the answers.
 */
import { PerdureError } from '../../contract/errors.js';
import type { LocalUser } from '../principal.js';
import { isForeignSite } from './page-origin.js';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export function checkLocal(headers: Headers): LocalUser {
  const host = headers.get('host') ?? '';
  if (!LOOPBACK_NAMES.includes(host.replace(/:\d+$/, '').toLowerCase())) {
    throw new PerdureError('forbidden', 'without auth, the gateway answers only to localhost, 127.0.0.1 and [::1]');
  }
  // An image or a frame of a foreign page is asked for without an origin, and a stream that is left can cancel a run.
  if (headers.get('origin') === null && isForeignSite(headers)) {
    throw new PerdureError('forbidden', 'pages of another origin may not call the gateway');
  }
  return { kind: 'local' };
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
