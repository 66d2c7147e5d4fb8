/** For `catch`: a file that is not there is undefined; all else goes on as it is. */
export function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
