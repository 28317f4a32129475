/** What callers may do with objects of tenancy, by the names that answers have for it in `may`. */

/** Of a key. `block` also takes a block away; `store_bodies` = have requests and answers stored. */
export const keyActions = ['update', 'regenerate', 'block', 'delete', 'store_bodies'] as const
/** One of `keyActions`. */
export type KeyAction = (typeof keyActions)[number]

/** Of a team. `update` = its name and what members may do; `update_limits` = its models, limits and budget. */
export const teamActions = ['update', 'update_limits', 'change_members', 'block', 'delete', 'store_bodies'] as const
/** One of `teamActions`. */
export type TeamAction = (typeof teamActions)[number]

/** Of an organization. `update` = its name; `update_limits` = its models, limits and budget. */
export const organizationActions = ['update', 'update_limits', 'change_members', 'block', 'delete'] as const
/** One of `organizationActions`. */
export type OrganizationAction = (typeof organizationActions)[number]

/** Of the gateway as a whole. `administer` = change everything. */
export const gatewayActions = ['administer', 'read_all', 'see_organizations', 'create_keys', 'create_teams'] as const
/** One of `gatewayActions`. */
export type GatewayAction = (typeof gatewayActions)[number]
