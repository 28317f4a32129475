/** Which role may use which path. */
import { GatewayError } from '../core/errors.ts'
import type { RequestPolicy } from '../core/policy.ts'

/** Throws `forbidden` where a path needs the master key and another key was sent. */
export function requireRole(): RequestPolicy {
  return {
    name: 'require-role',
    stage: 'request',
    admit({ auth, caller }) {
      if (auth === 'admin' && caller?.role !== 'admin')
        throw new GatewayError('forbidden', 'this operation needs the master key')
    },
  }
}
