/** Writes docs/events.md: `npm run docs`, which builds first. */
import { writeFileSync } from 'node:fs';
import { eventsPage } from '../dist/contract/events-page.js';

writeFileSync(new URL('events.md', import.meta.url), eventsPage());
