/** Which role, and which key, may use which path. */
import { hasRoleFor } from '../access/rights.ts'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import type { AuthClass, AdmittedRequest, RequestPolicy } from '../core/policy.ts'

const needs: Readonly<Record<AuthClass, string>> = {
  key: 'another key: a token for directories asks for /scim/v2 alone',
  manager: 'the key of a user who is no viewer, or the master key',
  viewer: 'the key of a user who is `proxy_admin` or `proxy_admin_viewer`, or the master key',
  admin: 'the key of a user who is `proxy_admin`, or the master key',
  directory: 'a token for directories (POST /scim/tokens), the key of a user who is `proxy_admin`, or the master key',
}

/**
 * Throws `forbidden` where a path needs another role, the key's `allowed_routes` do not name it, or the key has a
 * restriction that keeps it from managing.
 */
export function requireRole(): RequestPolicy {
  return {
    name: 'require-role',
    stage: 'request',
    admit(request) {
      const { auth } = request
      const caller = request.caller!
      if (!hasRoleFor(caller, auth)) throw new GatewayError('forbidden', `this operation needs ${needs[auth]}`)
      if (caller.key.allowedRoutes.length > 0 && !isAllowed(caller, request))
        throw new GatewayError(
          'forbidden',
          'the `allowed_routes` of this key do not name this path; use another key, or have it added',
        )
      if (auth !== 'key' && auth !== 'viewer' && caller.restriction !== undefined) throw keptFrom(caller.restriction)
    },
  }
}

const keptFrom = (restriction: string): GatewayError =>
  new GatewayError(
    'forbidden',
    `this key has a restriction of its own (${restriction}), so that it calls models, reads, and manages nothing: ` +
      'sign in, or use a key without restrictions, or one whose `allowed_routes` alone name this path',
  )

/** Decided once for each caller and endpoint. */
const decided = new WeakMap<Caller, Map<readonly string[], boolean>>()

function isAllowed(caller: Caller, { routes, routeGroup }: AdmittedRequest): boolean {
  let known = decided.get(caller)
  if (!known) decided.set(caller, (known = new Map()))
  let allowed = known.get(routes)
  if (allowed === undefined)
    known.set(routes, (allowed = caller.key.allowedRoutes.some(entry => names(entry, routes, routeGroup))))
  return allowed
}

/** Other names of groups, as the peer's configurations have them. */
const groupNames: Readonly<Record<string, AdmittedRequest['routeGroup']>> = {
  openai_routes: 'llm_api_routes',
  anthropic_routes: 'llm_api_routes',
  llm_api_routes: 'llm_api_routes',
  management_routes: 'management_routes',
  info_routes: 'info_routes',
}

function names(entry: string, routes: readonly string[], group: AdmittedRequest['routeGroup']): boolean {
  const ofGroup = Object.hasOwn(groupNames, entry) ? groupNames[entry] : undefined
  if (ofGroup !== undefined) return ofGroup === group || (ofGroup === 'management_routes' && group === 'info_routes')
  const star = entry.indexOf('*')
  return star < 0 ? routes.includes(entry) : routes.some(route => route.startsWith(entry.slice(0, star)))
}
