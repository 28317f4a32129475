/** Requests about organizations, customers, tags and named budgets, as LiteLLM names them (2026-11-23). */
import { z } from 'zod'
import {
  budgetFields,
  customerFields,
  organizationFields,
  spendingFields,
  tagFields,
} from '../../core/tenancy/field-tables.ts'
import { blankRecord } from '../../core/tenancy/fields.ts'
import { noNameOwner } from '../../core/tenancy/tenancy.ts'
import type { Customer, NameOwner, NamedBudget, Organization, Tag } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import { lazy } from '../../lib/lazy.ts'
import { readDuration } from '../key.ts'
import { shownFields } from './answers.ts'
import { changesOf, keyName, selfServiceFields, version, writtenFields } from './checks.ts'
import { createsMissingUsers, isNamed, memberReference, oneOfBoth } from './member-reference.ts'
import { dollars } from './money.ts'

const organizationBodyFields = lazy(() => ({
  ...writtenFields(organizationFields),
}))
/** The body of `/organization/new`. */
export const organizationBody = lazy(() =>
  z.strictObject({
    organization_id: keyName().nullable().optional().describe('Its id; one is made where it is absent.'),
    ...organizationBodyFields(),
    organization_alias: keyName(),
  }),
)
/** The body of `/organization/update`. */
export const organizationUpdateBody = lazy(() =>
  z.strictObject({
    organization_id: keyName(),
    ...organizationBodyFields(),
    organization_alias: keyName().optional(),
    version: version(),
  }),
)
/** What admins of an organization may change of it. */
export const organizationAdminFields = selfServiceFields(organizationFields, 'organization_id', 'version')

const organizationRoles = ['org_admin', 'internal_user', 'internal_user_viewer'] as const
const organizationMember = lazy(() =>
  z
    .strictObject({ role: z.enum(organizationRoles).default('internal_user'), ...memberReference() })
    .refine(isNamed, oneOfBoth),
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
const changedMember = lazy(() => ({ ...memberReference(), role: z.enum(organizationRoles).nullable().optional() }))
/** The body of `/organization/member_update`. The member may stand in `member`, as in the body that adds one. */
export const organizationMemberUpdateBody = lazy(() =>
  z
    .strictObject({
      organization_id: keyName(),
      ...changedMember(),
      member: z.strictObject(changedMember()).optional(),
      max_budget_in_organization: dollars().optional(),
    })
    .transform(({ member, ...sent }) => ({ ...member, ...sent })),
)
/** The body of `/organization/member_delete`. */
export const organizationMemberDeleteBody = lazy(() =>
  z.strictObject({ organization_id: keyName(), ...memberReference() }),
)

/** The changes of an organization, as far as they were sent. */
export const organizationChanges = (
  sent: Partial<z.infer<ReturnType<typeof organizationUpdateBody>>>,
): TenantChanges<'organization'> => changesOf(organizationFields, sent)

/** The organization that `/organization/new` makes of what was sent. */
export function newOrganization(
  id: string,
  sent: Partial<z.infer<ReturnType<typeof organizationUpdateBody>>>,
): NewTenant<'organization'> {
  return { ...blankRecord(organizationFields), id, ...organizationChanges(sent) }
}

/** An organization as the API shows it. */
export const shownOrganization = (organization: Organization) => ({
  ...shownFields(organizationFields, organization),
  litellm_budget_table: shownFields(spendingFields, organization),
})

interface SentOwner {
  readonly team_id?: string | null | undefined
  readonly organization_id?: string | null | undefined
  readonly max_budget?: unknown
  readonly budget_id?: unknown
}

/** What customers and tags may not set both of. */
function withoutBoth<Schema extends z.ZodType<SentOwner>>(body: Schema): Schema {
  return body
    .refine(
      sent => sent.team_id == null || sent.organization_id == null,
      'set `team_id` or `organization_id`, not both',
    )
    .refine(sent => sent.max_budget == null || sent.budget_id == null, 'set `max_budget` or `budget_id`, not both')
}

/** One owner takes the place of the other. */
function oneOwner<Changes extends Partial<NameOwner>>(changes: Changes): Changes {
  return changes.teamId != null || changes.organizationId != null ? { ...noNameOwner, ...changes } : changes
}

/** The body of `/customer/new` and `/customer/update`. */
export const customerBody = lazy(() =>
  withoutBoth(
    z.strictObject({
      user_id: keyName(),
      ...writtenFields(customerFields),
      version: version(),
    }),
  ),
)

/** The changes of a customer, as far as they were sent. */
export const customerChanges = (sent: Partial<z.infer<ReturnType<typeof customerBody>>>): TenantChanges<'customer'> =>
  oneOwner(changesOf(customerFields, sent))

/** The customer that `/customer/new` makes of what was sent. */
export const newCustomer = (
  id: string,
  sent: Partial<z.infer<ReturnType<typeof customerBody>>>,
): NewTenant<'customer'> => ({ ...blankRecord(customerFields), id, ...customerChanges(sent) })

/** A customer as the API shows it. `spend` in dollars. */
export const shownCustomer = (customer: Customer, spend: number) => ({
  ...shownFields(customerFields, customer),
  spend,
  litellm_budget_table: shownFields(spendingFields, customer),
})

/** The body of `/tag/new` and `/tag/update`. */
export const tagBody = lazy(() =>
  withoutBoth(
    z.strictObject({
      name: keyName(),
      ...writtenFields(tagFields),
      version: version(),
    }),
  ),
)

type SentTag = Omit<z.infer<ReturnType<typeof tagBody>>, 'name' | 'version'>

/** The changes of a tag, as far as they were sent. */
export const tagChanges = (sent: SentTag): TenantChanges<'tag'> => oneOwner(changesOf(tagFields, sent))

/** A new tag. Its id is its name. */
export const newTag = (name: string, sent: SentTag): NewTenant<'tag'> => ({
  ...blankRecord(tagFields),
  id: name,
  ...tagChanges(sent),
})

/** A tag as the API shows it; `spend` = dollars of the calls with it. */
export const shownTag = (tag: Tag, spend: number) => ({
  ...shownFields(tagFields, tag),
  model_info: {},
  spend,
  litellm_budget_table: shownFields(spendingFields, tag),
})

/** The body of `/budget/new`. */
export const budgetBody = lazy(() =>
  z.strictObject({ budget_id: keyName().nullable().optional(), ...writtenFields(budgetFields) }),
)
/** The body of `/budget/update`. */
export const budgetUpdateBody = lazy(() =>
  z.strictObject({ budget_id: keyName(), ...writtenFields(budgetFields), version: version() }),
)
/** The fields of a budget with their meanings, for `/budget/settings`. */
export const budgetSettings = Object.values(budgetFields)
  .filter(field => field.isWritten)
  .map(({ name, description }) => ({ field_name: name, field_description: description }))

/** The changes of a budget, as far as they were sent. */
export const budgetChanges = (sent: Partial<z.infer<ReturnType<typeof budgetUpdateBody>>>): TenantChanges<'budget'> =>
  changesOf(budgetFields, sent)

/** A new budget. Its first window ends one duration from now, unless the end is given. */
export function newBudget(
  id: string,
  sent: Partial<z.infer<ReturnType<typeof budgetUpdateBody>>>,
  nowMs: number,
): NewTenant<'budget'> {
  const changes = budgetChanges(sent)
  const window = changes.budgetDuration == null ? undefined : readDuration(changes.budgetDuration)
  const end = window && 'ms' in window ? nowMs + window.ms : null
  return { ...blankRecord(budgetFields), id, ...changes, budgetResetAtMs: changes.budgetResetAtMs ?? end }
}

/** A budget as the API shows it. */
export const shownBudget = (budget: NamedBudget) => shownFields(budgetFields, budget)
