/** Organizations and their members. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { administersOrganization, groupsOf, mayReadAll, membershipIn } from '../../access/rights.ts'
import { keyName } from '../../access/fields/checks.ts'
import { shownOrganizationMembership } from '../../access/fields/team-fields.ts'
import {
  newOrganization,
  organizationAdminFields,
  organizationBody,
  organizationChanges,
  organizationMemberAddBody,
  organizationMemberDeleteBody,
  organizationMemberUpdateBody,
  organizationUpdateBody,
  shownOrganization,
} from '../../access/fields/tenant-fields.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import { organizationActions } from '../../core/tenancy/actions.ts'
import { organizationFields, spendingFields } from '../../core/tenancy/field-tables.ts'
import type { Membership, Organization } from '../../core/tenancy/tenancy.ts'
import type { TenancyReader } from '../../core/tenancy/tenancy-store.ts'
import { lazy } from '../../lib/lazy.ts'
import { allowedOfOrganization, maySchema } from './common/allowed-actions.ts'
import { heldLimitsSchema, ownBudgetSchema, spendingStateOf } from './common/budget-states.ts'
import { memberNameSchemas, membershipFieldSchemas, namedMemberships } from './common/named-memberships.ts'
import {
  absent,
  checkedSpending,
  pageQueryFields,
  pageFields,
  pageFieldSchemas,
  pageOf,
  spendSchema,
  spentBy,
} from '../common/answers.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import { administeredOrganization, allowFields, checkMetadata, memberOf, userForMembership } from './common/access.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { described, listOf, named, nullable, shape, text } from '../openapi/schema.ts'

const shownOrganizationFields = () => ({
  ...fieldSchemas(organizationFields),
  litellm_budget_table: shape(fieldSchemas(spendingFields)),
})
const membershipFields = () => ({ ...membershipFieldSchemas(), organization_id: text, user_role: text })
const membershipSchema = named('OrganizationMember', () => shape(membershipFields()))
/** Lists of pages lack them. */
const organizationParts = {
  spend: spendSchema,
  members: listOf(membershipSchema),
  teams: listOf(shape({ team_id: text, team_alias: nullable(text) })),
}
const organizationSchema = named('Organization', () => shape(shownOrganizationFields(), organizationParts))
const organizationInfoSchema = named('OrganizationInfo', () =>
  shape(
    {
      ...shownOrganizationFields(),
      budget: ownBudgetSchema,
      limits: described('As of a team; null for those who do not lead it.', nullable(heldLimitsSchema)),
      may: maySchema(organizationActions),
    },
    { ...organizationParts, members: listOf(shape({ ...membershipFields(), ...memberNameSchemas })) },
  ),
)
const organizationListSchema = named('OrganizationList', () => listOf(organizationSchema))

const about = { tag: 'Organizations', answer: organizationSchema }
const listMax = 1000

/** With its members, its newest 1000 teams, and what these have spent. */
async function organizationRow(services: Services, organization: Organization) {
  const { members, ...row } = await organizationWithMembers(services, organization)
  return { ...row, members: members.map(shownOrganizationMembership) }
}

/** As `organizationRow`, with the memberships as they are stored. */
async function organizationWithMembers(services: Services, organization: Organization) {
  const { tenancy } = services
  const members = await tenancy.memberships({ kind: 'organization', groupId: organization.id })
  const { items: teams } = await tenancy.list('team', { organizationId: organization.id }, { limit: listMax })
  const spent = await spentBy(
    services,
    'team',
    teams.map(team => team.id),
  )
  const nano = teams.reduce((sum, team) => sum + spent(team.id), 0)
  return {
    ...shownOrganization(organization),
    spend: nano,
    members,
    teams: teams.map(team => ({ team_id: team.id, team_alias: team.alias })),
  }
}

const organizationNew = withBody(organizationBody, {
  ...about,
  paths: ['/organization/new'],
  auth: 'admin',
  operationId: 'createOrganization',
  summary: 'Make an organization',
  failures: [409],
  async handle({ organization_id: id, ...fields }, { services, caller }) {
    const made = newOrganization(id ?? randomUUIDv7(), fields)
    checkedSpending(made)
    return organizationRow(
      services,
      await services.tenancy.change(actorOf(caller), tx => tx.insert('organization', made)),
    )
  },
})

/** Its own admins change its name and metadata; models, limits and budget are for administrators. */
const organizationUpdate = withBody(organizationUpdateBody, {
  ...about,
  method: 'PATCH',
  paths: ['/organization/update'],
  auth: 'manager',
  operationId: 'updateOrganization',
  summary: 'Change an organization; only the fields sent change',
  failures: [404, 409],
  async handle(body, { services, caller }) {
    const { organization_id: id, version, ...fields } = body
    const changed = await services.tenancy.change(actorOf(caller), async tx => {
      const before = await administeredOrganization(tx, caller, id)
      if (!isAdministrator(caller)) {
        allowFields(body, organizationAdminFields, 'admins of an organization')
        checkMetadata(fields.metadata)
      }
      const changes = organizationChanges(fields)
      checkedSpending({ ...before, ...changes }, before)
      return tx.update('organization', id, changes, version)
    })
    return organizationRow(services, changed)
  },
})

const organizationDelete = withBody(() => z.strictObject({ organization_ids: z.array(keyName()).min(1).max(100) }), {
  ...about,
  answer: organizationListSchema,
  method: 'DELETE',
  paths: ['/organization/delete'],
  auth: 'admin',
  operationId: 'deleteOrganizations',
  summary: 'Delete organizations with their teams and keys, all or none',
  failures: [404, 409],
  async handle({ organization_ids: ids }, { services, caller }) {
    const deleted = await services.tenancy.change(actorOf(caller), async tx => {
      const gone: Organization[] = []
      for (const id of new Set(ids)) gone.push(await tx.delete('organization', id))
      return gone
    })
    return deleted.map(shownOrganization)
  },
})

/** Members and callers that read everything. The same 404 for others. */
async function visibleOrganization(reader: TenancyReader, caller: Caller, id: string): Promise<Organization> {
  const found = await reader.find('organization', id)
  if (found && (mayReadAll(caller) || membershipIn(caller, 'organization', id))) return found
  throw absent('organization', 'organization_id')
}

const organizationInfo = withQuery(() => z.strictObject({ organization_id: keyName() }), {
  ...about,
  answer: organizationInfoSchema,
  paths: ['/organization/info'],
  auth: 'key',
  operationId: 'getOrganization',
  summary: 'One organization with its members and teams',
  failures: [404],
  async handle({ organization_id: id }, { services, caller }) {
    const found = await visibleOrganization(services.tenancy, caller, id)
    // What all of its teams spend is not for each member.
    const isRead = mayReadAll(caller) || administersOrganization(caller, id)
    const state = isRead ? await spendingStateOf(services, 'organization', found) : { budget: null, limits: null }
    const { members, ...row } = await organizationWithMembers(services, found)
    const shown = await namedMemberships(services.tenancy, members, {
      row: shownOrganizationMembership,
      shows: isRead ? 'names-and-addresses' : 'names',
    })
    return { ...row, ...state, members: shown, may: allowedOfOrganization(caller, found) }
  },
})

const organizationList = withQuery(() => z.strictObject({ organization_alias: keyName().optional() }), {
  ...about,
  answer: organizationListSchema,
  paths: ['/organization/list'],
  auth: 'key',
  operationId: 'listOrganizations',
  summary: 'The newest 100 organizations that the caller may see',
  async handle({ organization_alias: alias }, { services, caller }) {
    const visible = mayReadAll(caller) ? undefined : { ids: groupsOf(caller, 'organization'), organizationIds: [] }
    const { items } = await services.tenancy.list('organization', { alias, visible }, { limit: 100 })
    return Promise.all(items.map(one => organizationRow(services, one)))
  },
})

const pagesQuery = lazy(() =>
  z.strictObject({
    organization_alias: keyName().optional().describe('The name contains this part.'),
    ...pageQueryFields({ most: 1000, usual: 50 }),
  }),
)
const organizationPages = withQuery(pagesQuery, {
  ...about,
  answer: named('OrganizationPage', () => shape({ organizations: listOf(organizationSchema), ...pageFieldSchemas })),
  paths: ['/v2/organization/list'],
  auth: 'key',
  operationId: 'listOrganizationPages',
  summary: 'The organizations that the caller may see, newest first, without members and teams, with a cursor',
  async handle({ organization_alias: alias, page, page_size: size, cursor }, { services, caller }) {
    const visible = mayReadAll(caller) ? undefined : { ids: groupsOf(caller, 'organization'), organizationIds: [] }
    const filter = { alias, visible }
    const { items, total } = await services.tenancy.list('organization', filter, pageOf(page, size, cursor))
    return {
      organizations: items.map(shownOrganization),
      ...pageFields({ items, total }, page, size),
    }
  },
})

const memberAdd = withBody(organizationMemberAddBody, {
  ...about,
  answer: named('OrganizationMembers', () =>
    shape({
      organization_id: text,
      updated_users: listOf(shape({ user_id: text })),
      updated_organization_memberships: listOf(membershipSchema),
    }),
  ),
  paths: ['/organization/member_add'],
  auth: 'manager',
  operationId: 'addOrganizationMembers',
  summary: 'Add members to an organization; for administrators users who do not exist are made',
  failures: [404, 409],
  async handle(body, { services, caller }) {
    const { organization_id: groupId, member, max_budget_in_organization: max = null } = body
    const defaults = body.create_missing_users ? services.current.settings.newUsers : null
    const added = await services.tenancy.change(actorOf(caller), async tx => {
      await administeredOrganization(tx, caller, groupId)
      const made: Membership[] = []
      for (const { role, ...named } of [member].flat()) {
        const { id: userId } = await userForMembership(tx, { caller, defaults }, named)
        const fields = { ...unlimited, maxBudgetNanoUsd: max, kind: 'organization' as const, groupId, userId, role }
        made.push(await tx.putMembership(fields))
      }
      return made
    })
    return {
      organization_id: groupId,
      updated_users: added.map(one => ({ user_id: one.userId })),
      updated_organization_memberships: added.map(shownOrganizationMembership),
    }
  },
})

const memberUpdate = withBody(organizationMemberUpdateBody, {
  ...about,
  answer: membershipSchema,
  method: 'PATCH',
  paths: ['/organization/member_update'],
  auth: 'manager',
  operationId: 'updateOrganizationMember',
  summary: "Change a member's role or budget",
  failures: [404, 409],
  async handle({ organization_id: id, role, max_budget_in_organization: max, ...named }, { services, caller }) {
    const changed = await services.tenancy.change(actorOf(caller), async tx => {
      await administeredOrganization(tx, caller, id)
      const before = await memberOf(tx, { kind: 'organization', groupId: id }, named)
      const maxBudgetNanoUsd = max === undefined ? before.maxBudgetNanoUsd : max
      return tx.putMembership({ ...before, maxBudgetNanoUsd, role: role ?? before.role })
    })
    return shownOrganizationMembership(changed)
  },
})

const memberDelete = withBody(organizationMemberDeleteBody, {
  ...about,
  answer: membershipSchema,
  method: 'DELETE',
  paths: ['/organization/member_delete'],
  auth: 'manager',
  operationId: 'deleteOrganizationMember',
  summary: 'Remove a member from an organization',
  failures: [404],
  async handle({ organization_id: id, ...named }, { services, caller }) {
    const gone = await services.tenancy.change(actorOf(caller), async tx => {
      await administeredOrganization(tx, caller, id)
      const member = await memberOf(tx, { kind: 'organization', groupId: id }, named)
      await tx.deleteMembership(member)
      return member
    })
    return shownOrganizationMembership(gone)
  },
})

/** Everything under `/organization`. */
export const organizationEndpoints: readonly Endpoint[] = [
  organizationNew,
  organizationUpdate,
  organizationDelete,
  organizationInfo,
  organizationList,
  organizationPages,
  memberAdd,
  memberUpdate,
  memberDelete,
]
