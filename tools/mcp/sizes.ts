/** What a server may send at most in one message, and over HTTP in the whole answer to one request. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
