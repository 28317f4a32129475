/** Fields of tags as LiteLLM names them (its docs and source, 2026-11-23). */
import { z } from 'zod'
import { noNameOwner } from '../../core/tenancy/tenancy.ts'
import type { Tag } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import {
  blankTenant,
  changesOf,
  descriptionText,
  keyName,
  shownSpending,
  shownTenant,
  spendingFields,
  tenantChanges,
  version,
} from './spending-fields.ts'
import { hasOneOwner, oneOwnerOnly, ownerChanges, ownerFields, shownOwner } from './owner-fields.ts'
import { lazy } from '../../lib/lazy.ts'

const noModels = 'must be empty: a tag chooses no models here; list them in the key or the team'

/** The body of `/tag/new` and `/tag/update`. */
export const tagBody = lazy(() =>
  z
    .strictObject({
      name: keyName(),
      description: descriptionText().nullable().optional(),
      models: z.array(z.unknown()).max(0, noModels).nullable().optional(),
      ...ownerFields(),
      ...spendingFields(),
      version: version(),
    })
    .refine(hasOneOwner, oneOwnerOnly)
    .refine(body => body.max_budget == null || body.budget_id == null, 'set `max_budget` or `budget_id`, not both'),
)

type SentTag = Omit<z.infer<ReturnType<typeof tagBody>>, 'name' | 'version'>

/** The changes of a tag, as far as they were sent. */
export function tagChanges({ models: _, ...sent }: SentTag): TenantChanges<'tag'> {
  return {
    ...tenantChanges(sent),
    ...ownerChanges(sent),
    ...changesOf(sent, { description: 'description' }, { description: null as string | null }),
  }
}

/** A new tag. Its id is its name. */
export function newTag(name: string, sent: SentTag): NewTenant<'tag'> {
  return { ...blankTenant, ...noNameOwner, description: null, id: name, ...tagChanges(sent) }
}

/** A tag as the API shows it; `spend` = dollars of the calls with it. */
export function shownTag(tag: Tag, spend: number): Record<string, unknown> {
  const { models, metadata: _, blocked: __, ...shown } = shownTenant(tag)
  return {
    name: tag.id,
    description: tag.description,
    ...shownOwner(tag),
    models,
    model_info: {},
    ...shown,
    spend,
    litellm_budget_table: shownSpending(tag),
  }
}
