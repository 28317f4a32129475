/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { accessGroupEndpoints } from '../administration/access-groups.ts'
import { auditEndpoints } from '../administration/audit.ts'
import { budgetEndpoints } from '../administration/budgets.ts'
import { customerEndpoints } from '../administration/customers.ts'
import { organizationEndpoints } from '../administration/organizations.ts'
import { scimEndpoints } from '../administration/scim.ts'
import { spendResetEndpoints } from '../administration/spend-resets.ts'
import { tagEndpoints } from '../administration/tags.ts'
import { teamMemberEndpoints } from '../administration/team-members.ts'
import { teamEndpoints } from '../administration/teams.ts'
import { userEndpoints } from '../administration/users.ts'

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
