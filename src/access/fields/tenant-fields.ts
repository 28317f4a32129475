/** Fields of organizations, customers and named budgets as LiteLLM names them (its docs and source, 2026-11-23). */
import { z } from 'zod'
import { noNameOwner } from '../../core/tenancy/tenancy.ts'
import type { Customer, NamedBudget, Organization } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import { readDuration } from '../key.ts'
import { dollars } from './money.ts'
import {
  blankTenant,
  changesOf,
  keyName,
  shownSpending,
  shownTenant,
  spendingChanges,
  spendingFields,
  tenantChanges,
  tenantFields,
  version,
  without,
} from './spending-fields.ts'
import { hasOneOwner, oneOwnerOnly, ownerChanges, ownerFields, shownOwner } from './owner-fields.ts'
import { lazy } from '../../lib/lazy.ts'

const organizationFields = lazy(() => ({
  ...tenantFields(),
  object_permission: without('use `models`'),
  router_settings: without('retries and fallbacks are settings of the gateway'),
}))
/** The body of `/organization/new`. */
export const organizationBody = lazy(() =>
  z.strictObject({
    organization_id: keyName().nullable().optional().describe('Absent = one is made.'),
    organization_alias: keyName(),
    ...organizationFields(),
  }),
)
/** The body of `/organization/update`. */
export const organizationUpdateBody = lazy(() =>
  z.strictObject({
    organization_id: keyName(),
    organization_alias: keyName().optional(),
    ...organizationFields(),
    version: version(),
  }),
)
/** What admins of an organization may change of it. */
export const organizationAdminFields: ReadonlySet<string> = new Set([
  'organization_id',
  'version',
  'organization_alias',
  'metadata',
])

const memberReference = lazy(() => ({ user_id: keyName().optional(), user_email: z.email().max(255).optional() }))
const organizationRoles = ['org_admin', 'internal_user', 'internal_user_viewer'] as const
const organizationMember = lazy(() =>
  z
    .strictObject({ role: z.enum(organizationRoles).default('internal_user'), ...memberReference() })
    .refine(one => one.user_id !== undefined || one.user_email !== undefined, 'give `user_id` or `user_email`'),
)
/** Whether a member who is no user yet is made one. */
export const createsMissingUsers = lazy(() =>
  z
    .boolean()
    .default(true)
    .describe('For administrators: false = 404 for a user who does not exist, in place of a new one.'),
)
/** The body of `/organization/member_add`. */
export const organizationMemberAddBody = lazy(() =>
  z.strictObject({
    organization_id: keyName(),
    member: z.union([organizationMember(), z.array(organizationMember()).min(1).max(500)]),
    create_missing_users: createsMissingUsers(),
    max_budget_in_organization: dollars().optional(),
  }),
)
/** The body of `/organization/member_update`. */
export const organizationMemberUpdateBody = lazy(() =>
  z.strictObject({
    organization_id: keyName(),
    ...memberReference(),
    role: z.enum(organizationRoles).nullable().optional(),
    max_budget_in_organization: dollars().optional(),
  }),
)
/** The body of `/organization/member_delete`. */
export const organizationMemberDeleteBody = lazy(() =>
  z.strictObject({ organization_id: keyName(), ...memberReference() }),
)

/** The changes of an organization, as far as they were sent. */
export function organizationChanges(
  sent: Partial<z.infer<ReturnType<typeof organizationUpdateBody>>>,
): TenantChanges<'organization'> {
  return {
    ...tenantChanges(sent),
    ...changesOf(sent, { organization_alias: 'alias' }, { alias: null as string | null }),
  }
}

/** The organization that `/organization/new` makes of what was sent. */
export function newOrganization(
  id: string,
  sent: Partial<z.infer<ReturnType<typeof organizationUpdateBody>>>,
): NewTenant<'organization'> {
  return { ...blankTenant, id, ...organizationChanges(sent) }
}

/** An organization as the API shows it. */
export function shownOrganization(organization: Organization): Record<string, unknown> {
  return {
    organization_id: organization.id,
    organization_alias: organization.alias,
    ...shownTenant(organization),
    litellm_budget_table: shownSpending(organization),
  }
}

const { models: _, ...customerBudget } = tenantFields()
const customerFields = lazy(() => ({
  alias: keyName().nullable().optional(),
  ...customerBudget,
  default_model: without('name the model in each call'),
  allowed_model_region: without('use `models` of the key'),
  spend: without('what a customer has spent is the sum of its calls in the ledger'),
  object_permission: without('customers call with the keys of others'),
}))
/** The body of `/customer/new` and `/customer/update`. */
export const customerBody = lazy(() =>
  z
    .strictObject({ user_id: keyName(), ...ownerFields(), ...customerFields(), version: version() })
    .refine(hasOneOwner, oneOwnerOnly)
    .refine(body => body.max_budget == null || body.budget_id == null, 'set `max_budget` or `budget_id`, not both'),
)

/** The changes of a customer, as far as they were sent. */
export function customerChanges(sent: Partial<z.infer<ReturnType<typeof customerBody>>>): TenantChanges<'customer'> {
  return {
    ...tenantChanges(sent),
    ...ownerChanges(sent),
    ...changesOf(sent, { alias: 'alias' }, { alias: null as string | null }),
  }
}

/** The customer that `/customer/new` makes of what was sent. */
export function newCustomer(
  id: string,
  sent: Partial<z.infer<ReturnType<typeof customerBody>>>,
): NewTenant<'customer'> {
  return { ...blankTenant, ...noNameOwner, id, ...customerChanges(sent) }
}

/** A customer as the API shows it. `spend` in dollars. */
export function shownCustomer(customer: Customer, spend: number): Record<string, unknown> {
  const { models: __, ...shown } = shownTenant(customer)
  return {
    user_id: customer.id,
    alias: customer.alias,
    ...shownOwner(customer),
    ...shown,
    spend,
    litellm_budget_table: shownSpending(customer),
  }
}

const { budget_id: ___, ...budgetFields } = spendingFields()
/** The body of `/budget/new`. */
export const budgetBody = lazy(() => z.strictObject({ budget_id: keyName().nullable().optional(), ...budgetFields }))
/** The body of `/budget/update`. */
export const budgetUpdateBody = lazy(() =>
  z.strictObject({ budget_id: keyName(), ...budgetFields, version: version() }),
)
/** The fields of a budget with their meanings, for `/budget/settings`. */
export const budgetSettings = Object.entries(budgetFields).map(([name, schema]) => ({
  field_name: name,
  field_description: schema.description ?? name.replaceAll('_', ' '),
}))

/** The changes of a budget, as far as they were sent; the `budget_id` of one is its own. */
export function budgetChanges(sent: Partial<z.infer<ReturnType<typeof budgetUpdateBody>>>): TenantChanges<'budget'> {
  return spendingChanges({ ...sent, budget_id: undefined })
}

/** A new budget. Its first window ends one duration from now, unless the end is given. */
export function newBudget(
  id: string,
  sent: Partial<z.infer<ReturnType<typeof budgetUpdateBody>>>,
  nowMs: number,
): NewTenant<'budget'> {
  const changes = budgetChanges(sent)
  const window = changes.budgetDuration == null ? undefined : readDuration(changes.budgetDuration)
  const end = window && 'ms' in window ? nowMs + window.ms : null
  return { ...blankTenant, id, ...changes, budgetResetAtMs: changes.budgetResetAtMs ?? end }
}

/** A budget as the API shows it. */
export function shownBudget(budget: NamedBudget): Record<string, unknown> {
  const { models: ____, metadata: _____, blocked: ______, ...shown } = shownTenant(budget)
  return { ...shown, budget_id: budget.id }
}
