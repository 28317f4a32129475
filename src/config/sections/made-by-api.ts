/** What may be made by API, and where secrets come from. */
import { z } from 'zod'

/** Keys of `general_settings`. */
export const storedSettings = {
  store_model_in_db: z
    .boolean()
    .optional()
    .describe(
      'false: no models, credentials and access groups are made by API, and those made before are not served. true: ' +
        'they are, and aliases and fallbacks of this file may name models that are made later. Left out: they are, ' +
        'and every name in this file must be one of this file.',
    ),
  allowed_environment_references: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable'))
    .max(1000)
    .optional()
    .describe(
      'Environment variables that models and credentials made by API may refer to (`os.environ/NAME`), beside those ' +
        'in which providers look for their keys; none.',
    ),
  secret_file_directories: z
    .array(z.string().regex(/^\//, 'must be an absolute path'))
    .max(20)
    .optional()
    .describe('Directories of which models and credentials made by API may read secrets (`file/PATH`); none.'),
  secret_refresh_seconds: z
    .number()
    .min(5)
    .max(86_400)
    .optional()
    .describe('How often secrets of files, Vault and commands are read again; 300 when left out.'),
  batch_poll_seconds: z
    .number()
    .min(1)
    .max(86_400)
    .optional()
    .describe('How often the gateway looks for batches that have ended, so that each is settled. 60 when left out.'),
}
