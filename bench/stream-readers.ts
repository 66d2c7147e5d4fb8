/**
 * Many readers of one stream, in a process of their own: `node stream-readers.js URL COUNT`. Says "ready" when all are
 * connected and have the beginning, and at the end what they got, as JSON.
 */
import { get } from 'node:http';

const [url = '', count = '1'] = process.argv.slice(2);
const readers = Number(count);
let begun = 0;
let lines = 0;
let bytes = 0;
let ended = 0;

const results = await Promise.all(
  Array.from(
    { length: readers },
    () =>
      new Promise<void>((resolve, reject) => {
        get(url, (response) => {
          let own = 0;
          let last = '';
          response.on('data', (chunk: Buffer) => {
            if (own === 0 && ++begun === readers) console.log('ready');
            bytes += chunk.length;
            for (const byte of chunk) if (byte === 10) own += 1;
            last = (last + chunk.toString('latin1')).slice(-400);
          });
          response.on('end', () => {
            lines += own;
            if (last.includes('"perdure":"end"')) ended += 1;
            resolve();
          });
          response.on('error', reject);
        }).on('error', reject);
      }),
  ),
);
console.log(JSON.stringify({ readers: results.length, lines, bytes, ended }));
