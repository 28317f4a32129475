/** What a caller may do with an object, as answers name it in `may`: asked of the checks that changes pass. */
import {
  administersOrganization,
  administersTeam,
  groupsOf,
  hasRoleFor,
  mayChangeKey,
  mayReadAll,
  organizationsOf,
} from '../../../access/rights.ts'
import { isAdministrator } from '../../../core/caller.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import { gatewayActions, keyActions, organizationActions, teamActions } from '../../../core/tenancy/actions.ts'
import type { GatewayAction, KeyAction, OrganizationAction, TeamAction } from '../../../core/tenancy/actions.ts'
import type { KeyChanges, KeyRecord } from '../../../core/tenancy/keys.ts'
import type { Organization, Team } from '../../../core/tenancy/tenancy.ts'
import { described, listOf, oneOf } from '../../openapi/schema.ts'
import { checkKeyChange, checkMaker, teamOf } from './key-rights.ts'

/** The schema of `may`, which is computed for the caller that asks. */
export const maySchema = <Action extends string>(actions: readonly Action[]) =>
  described('What the caller may do with it.', listOf(oneOf(...actions)))

/** Those of the actions that are allowed, in their order. */
const allowed = <Action extends string>(
  actions: readonly Action[],
  is: Readonly<Record<Action, boolean>>,
): readonly Action[] => actions.filter(action => is[action])

/** The check refuses the caller nothing. */
async function passes(check: () => unknown): Promise<boolean> {
  try {
    await check()
    return true
  } catch (error) {
    if (error instanceof GatewayError && (error.status === 403 || error.status === 404)) return false
    throw error
  }
}

/** What the caller may do with this key, as it is now. */
export async function allowedOfKey(
  { tenancy, clock }: Services,
  caller: Caller,
  record: KeyRecord,
): Promise<readonly KeyAction[]> {
  const team = await teamOf(tenancy, record)
  if (!mayChangeKey(caller, record, team)) return []
  const reader = {
    find: tenancy.find.bind(tenancy),
    memberships: tenancy.memberships.bind(tenancy),
    nowMs: clock.epochMs(),
  }
  const may = (changes: KeyChanges) => passes(() => checkKeyChange(reader, caller, record, changes))
  return allowed(keyActions, {
    update: await may({}),
    // Another text in place of the one that is known.
    regenerate: await may({ hash: '' }),
    block: await may({ blocked: !record.blocked }),
    delete: isAdministrator(caller) || (await passes(() => checkMaker(caller))),
    store_bodies: await may({ storesBodies: true }),
  })
}

/** An admin of the gateway, or of the team's organization. */
export const isAboveTeam = (caller: Caller, { organizationId }: Team): boolean =>
  isAdministrator(caller) || (organizationId !== null && administersOrganization(caller, organizationId))

/** What the caller may do with this team. */
export function allowedOfTeam(caller: Caller, team: Team): readonly TeamAction[] {
  const leads = hasRoleFor(caller, 'manager') && administersTeam(caller, team)
  const isAbove = leads && isAboveTeam(caller, team)
  return allowed(teamActions, {
    update: leads,
    update_limits: isAbove,
    change_members: leads,
    block: hasRoleFor(caller, 'admin'),
    delete: leads,
    store_bodies: isAbove,
  })
}

/** What the caller may do with this organization. */
export function allowedOfOrganization(caller: Caller, { id }: Organization): readonly OrganizationAction[] {
  const leads = hasRoleFor(caller, 'manager') && administersOrganization(caller, id)
  const administers = isAdministrator(caller)
  return allowed(organizationActions, {
    update: leads,
    update_limits: administers,
    change_members: leads,
    block: administers,
    delete: administers,
  })
}

/** What the caller may do beside what objects of its own say. */
export async function allowedOfGateway(caller: Caller): Promise<readonly GatewayAction[]> {
  const administers = isAdministrator(caller)
  return allowed(gatewayActions, {
    administer: administers,
    read_all: mayReadAll(caller),
    see_organizations: mayReadAll(caller) || groupsOf(caller, 'organization').length > 0,
    create_keys: administers || (await passes(() => checkMaker(caller))),
    create_teams: administers || (hasRoleFor(caller, 'manager') && organizationsOf(caller).length > 0),
  })
}
