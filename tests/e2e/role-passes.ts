import type { Endpoint } from '../../src/core/endpoint.ts'

/** The classes of operations that each role of a user, a key of no user, and that of a directory, passes. */
export const rolePasses: Readonly<Record<string, readonly Endpoint['auth'][]>> = {
  proxy_admin: ['none', 'key', 'manager', 'viewer', 'admin', 'directory'],
  proxy_admin_viewer: ['none', 'key', 'viewer'],
  internal_user: ['none', 'key', 'manager'],
  internal_user_viewer: ['none', 'key'],
  key: ['none', 'key'],
  directory: ['none', 'directory'],
}
