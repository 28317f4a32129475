import type { ModelEntry } from './file.ts'

type Params = ModelEntry['proxy_params']

/** The fields of `proxy_params` that are secret: they change by rotation and must not be guessable from a hash. */
export const secretFields: ReadonlySet<string> = new Set<keyof Params>([
  'api_key',
  'extra_headers',
  'vertex_credentials',
  'client_secret',
  'azure_ad_token',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
])

/** Keys anywhere in the file whose values may be secret, by their names: errors do not show them. */
export const secretName = /key|secret|(?<!per_\w*)token$|^proxy$|credentials|password|headers$|url$|base$|endpoint$/
