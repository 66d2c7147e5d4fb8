/** Which of named settings are secrets: variables of an environment, headers of a request. */
import { LEAST_CHARS } from './scrub-secrets.js';

const NAMES = /key|token|secret|passw|credential|authorization|cookie/i;
/** A file that holds one, such as `SSL_KEY=/etc/…`. */
const PATH = /^(?:[.~]{0,2}\/|[A-Za-z]:\\)/;
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\/(?:[^/?#]*:([^/?#]*)@)?/i;
const SCHEME = /^(?:Bearer|Basic|Token) +/i;

/** By their names, and the password of any address. */
export function secretSettings(settings: Readonly<Record<string, string | undefined>>): string[] {
  const found = Object.entries(settings).flatMap(([name, value = '']) => {
    const address = ADDRESS.exec(value);
    if (address !== null) return [address[1] ?? ''].flatMap((password) => [password, decoded(password)]);
    return NAMES.test(name) && !PATH.test(value) ? [value.replace(SCHEME, '')] : [];
  });
  return [...new Set(found)].filter((value) => value.trim().length >= LEAST_CHARS);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
