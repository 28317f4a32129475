/** Calls for a customer who is blocked are refused. */
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { TenantDirectory } from '../core/tenancy/tenancy-store.ts'
import type { Customer } from '../core/tenancy/tenancy.ts'

/** Throws `forbidden`. A call that names no end user costs nothing, one of a cached customer no wait. */
export function blockedCustomer(tenants: TenantDirectory): Policy {
  const check = (customer: Customer | undefined): void => {
    if (customer?.blocked)
      throw new GatewayError('forbidden', 'this end user is blocked; ask an administrator of this gateway', {
        param: 'user',
      })
  }
  return {
    name: 'blocked-customer',
    stage: 'body',
    admit({ endUser }: Call) {
      if (endUser === '') return
      const found = tenants.lookup('customer', endUser)
      if (found instanceof Promise) return found.then(check)
      check(found)
    },
  }
}
