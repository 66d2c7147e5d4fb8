/** The package that talks to S3 is loaded where a bucket is configured. Others need not have it. */
import type * as S3 from '@aws-sdk/client-s3';
import { PerdureError } from '../../contract/errors.js';

export async function loadS3(load: () => Promise<typeof S3> = () => import('@aws-sdk/client-s3')): Promise<typeof S3> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new PerdureError(
      'invalid_config',
      'a bucket is configured, and the package @aws-sdk/client-s3, which talks to it, is not installed: type "npm install @aws-sdk/client-s3@3"',
      { cause: error },
    );
  }
}
