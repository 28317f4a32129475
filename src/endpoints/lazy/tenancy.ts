/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { accessGroupEndpoints } from '../tenancy/access-groups.ts'
import { auditEndpoints } from '../tenancy/audit.ts'
import { budgetEndpoints } from '../tenancy/budgets.ts'
import { customerEndpoints } from '../tenancy/customers.ts'
import { organizationEndpoints } from '../tenancy/organizations.ts'
import { scimEndpoints } from '../tenancy/scim.ts'
import { spendResetEndpoints } from '../tenancy/spend-resets.ts'
import { tagEndpoints } from '../tenancy/tags.ts'
import { teamMemberEndpoints } from '../tenancy/team-members.ts'
import { teamEndpoints } from '../tenancy/teams.ts'
import { userEndpoints } from '../tenancy/users.ts'

/** Teams, users, organizations, customers, budgets, tags; directories and the audit log. */
export const endpoints: readonly Endpoint[] = [
  ...accessGroupEndpoints,
  ...tagEndpoints,
  ...spendResetEndpoints,
  ...teamEndpoints,
  ...teamMemberEndpoints,
  ...userEndpoints,
  ...organizationEndpoints,
  ...customerEndpoints,
  ...budgetEndpoints,
  ...auditEndpoints,
  ...scimEndpoints,
]
