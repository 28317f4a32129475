/** SCIM 2.0 (RFC 7643, RFC 7644): a directory makes, changes and removes users and teams. */
import type { Endpoint } from '../../core/endpoint.ts'
import { scimBulk } from './scim/bulk.ts'
import { discoveryEndpoints } from './scim/discovery.ts'
import { scimGroupEndpoints } from './scim/groups.ts'
import { scimTokenNew } from './scim/tokens.ts'
import { scimUserEndpoints } from './scim/users.ts'

/** Everything under `/scim`. */
export const scimEndpoints: readonly Endpoint[] = [
  scimTokenNew,
  ...discoveryEndpoints,
  ...scimUserEndpoints,
  ...scimGroupEndpoints,
  scimBulk,
]
