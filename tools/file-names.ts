/**
 * Names and media types of files that others made, as they are shown, stored and sent from then on. They are cleaned
 * once, where they enter: a program of the code interpreter or an MCP server may call its file anything.
 */

/** As long as file systems take, in bytes. */
const MOST_BYTES = 255;
const MOST_EXTENSION_BYTES = 32;
/** Of a longer one, the end is what counts. */
const MOST_READ_CHARS = 1_024;
/** Devices of Windows, with any extension. */
const RESERVED = /^(?:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$)\s*(?:\..*)?$/i;
const OCTETS = 'application/octet-stream';
const TOKEN = '[a-z0-9][a-z0-9!#$&^_.+-]{0,126}';
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}$`);

export interface NamedFile {
  filename: string;
  mime_type: string;
}

/** A name is a single segment that every file system takes; a type is `type/subtype`, without parameters. */
export function cleanFile(name: string, mediaType: string): NamedFile {
  return { filename: cleanName(name), mime_type: cleanType(mediaType) };
}

function cleanName(name: string): string {
  const visible = name
    .slice(-MOST_READ_CHARS)
    // What turns the direction of a text, or cannot be seen: a name must read as what it is.
    .replaceAll(/[\p{Cf}\p{Co}\p{Cs}]/gu, '')
    .normalize('NFC')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}<>:"|?*]/gu, '_')
    .replaceAll(/[\s\p{Zs}]+/gu, ' ');
  const parts = visible.split(/[/\\]/).filter((part) => !/^[ .]*$/.test(part));
  const bare = trimmed(parts.join('_'));
  const named = bare === '' ? 'file' : RESERVED.test(bare) ? `_${bare}` : bare;
  return trimmed(shortened(named));
}

/** Hidden files and options of commands begin so, and Windows takes no such end. */
function trimmed(name: string): string {
  return name.replace(/^[\s.-]+/, '').replace(/[\s.]+$/, '');
}

/** The extension is kept: it says what the file is. */
function shortened(name: string): string {
  if (bytesOf(name) <= MOST_BYTES) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && bytesOf(name.slice(dot)) <= MOST_EXTENSION_BYTES ? name.slice(dot) : '';
  const room = MOST_BYTES - bytesOf(extension);
  let kept = '';
  let bytes = 0;
  for (const character of name.slice(0, name.length - extension.length)) {
    bytes += bytesOf(character);
    if (bytes > room) break;
    kept += character;
  }
  return `${kept}${extension}`;
}

function cleanType(mediaType: string): string {
  const [bare = ''] = mediaType.split(';');
  const type = bare.trim().toLowerCase();
  return MEDIA_TYPE.test(type) ? type : OCTETS;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}
