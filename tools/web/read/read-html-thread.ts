/** A thread that reads one page: a page made to be slow must hold up nobody else, and can be stopped. */
import { parentPort, workerData } from 'node:worker_threads';
import { readHtml } from './read-html.js';

const { html, url } = workerData as { html: string; url: string };
parentPort?.postMessage(readHtml(html, url));
