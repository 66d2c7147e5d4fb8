/** A thread that reads pages: one made to be slow must hold up nobody else, and can be stopped. */
import { serveRequests } from '../../threads/serve-requests.js';
import { readHtml } from './read-html.js';

serveRequests((request) => {
  const { html, url } = request as { html: string; url: string };
  return readHtml(html, url);
});
