/** Tags: labels of calls, with limits and a budget of their own. What they spend by day is in `spend/activity.ts`. */
import { doneMessageSchema } from '../common/configured-change.ts'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { keyName } from '../../access/fields/checks.ts'
import { newTag, shownTag, tagBody, tagChanges } from '../../access/fields/tenant-fields.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { spendingFields, tagFields } from '../../core/tenancy/field-tables.ts'
import type { Tag } from '../../core/tenancy/tenancy.ts'
import type { TenancyTransaction } from '../../core/tenancy/tenancy-store.ts'
import { checkedSpending, pageQueryFields, pageOf, spendSchema, spentBy } from '../common/answers.ts'
import { checkGroups } from './common/access.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { anyObject, listOf, mapOf, named, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'

const tagSchema = named('Tag', () =>
  shape({
    ...fieldSchemas(tagFields),
    model_info: anyObject,
    spend: spendSchema,
    litellm_budget_table: shape(fieldSchemas(spendingFields)),
  }),
)
const changedTagSchema = named('ChangedTag', () => shape({ message: text, tag: tagSchema }))

const about = { tag: 'Tags', answer: changedTagSchema }

async function tagRows(services: Services, tags: readonly Tag[]): Promise<ValueOf<typeof tagSchema>[]> {
  const spent = await spentBy(
    services,
    'tag',
    tags.map(one => one.id),
  )
  return tags.map(one => shownTag(one, spent(one.id)))
}

async function existing(reader: Pick<TenancyTransaction, 'find'>, name: string): Promise<Tag> {
  const found = await reader.find('tag', name)
  if (found) return found
  throw new GatewayError('not-found', `there is no tag '${name.slice(0, 100)}'; calls may carry it all the same`, {
    param: 'name',
  })
}

const tagNew = withBody(tagBody, {
  ...about,
  paths: ['/tag/new'],
  auth: 'admin',
  operationId: 'createTag',
  summary: 'Give a tag limits, a budget and a description; calls may carry tags that are not made',
  failures: [409],
  async handle({ name, version: _, ...fields }, { services, caller }) {
    const record = checkedSpending(newTag(name, fields))
    const made = await services.tenancy.change(actorOf(caller), async tx => {
      await checkGroups(tx, record)
      return tx.insert('tag', record)
    })
    return { message: `Tag ${name} created successfully`, tag: (await tagRows(services, [made]))[0]! }
  },
})

const tagUpdate = withBody(tagBody, {
  ...about,
  paths: ['/tag/update'],
  auth: 'admin',
  operationId: 'updateTag',
  summary: 'Change a tag; only the fields sent change',
  failures: [404, 409],
  async handle({ name, version, ...fields }, { services, caller }) {
    const changed = await services.tenancy.change(actorOf(caller), async tx => {
      const changes = tagChanges(fields)
      const before = await existing(tx, name)
      checkedSpending({ ...before, ...changes }, before)
      await checkGroups(tx, changes)
      return tx.update('tag', name, changes, version)
    })
    return { message: `Tag ${name} updated successfully`, tag: (await tagRows(services, [changed]))[0]! }
  },
})

const tagInfo = withBody(() => z.strictObject({ names: z.array(keyName()).min(1).max(1000) }), {
  ...about,
  answer: named('TagsByName', () => mapOf(tagSchema)),
  answersAreListed: true,
  paths: ['/tag/info'],
  auth: 'viewer',
  operationId: 'getTags',
  summary: 'Several tags by their names; those that were not made are left out',
  async handle({ names }, { services }) {
    const rows = await tagRows(services, await services.tenancy.findAll('tag', [...new Set(names)]))
    return Object.fromEntries(rows.map(row => [row.name, row]))
  },
})

const listQuery = lazy(() => z.strictObject(pageQueryFields({ most: 1000, usual: 1000 })))

const tagList = withQuery(listQuery, {
  ...about,
  answer: named('TagList', () => listOf(tagSchema)),
  paths: ['/tag/list'],
  auth: 'viewer',
  operationId: 'listTags',
  summary: 'Tags, newest first, at most 1000 a page',
  async handle({ page, page_size: size, cursor }, { services }) {
    return tagRows(services, (await services.tenancy.list('tag', {}, pageOf(page, size, cursor))).items)
  },
})

const tagDelete = withBody(() => z.strictObject({ name: keyName() }), {
  ...about,
  answer: doneMessageSchema,
  paths: ['/tag/delete'],
  auth: 'admin',
  operationId: 'deleteTag',
  summary: 'Take the limits and the budget from a tag; what its calls have spent stays in the ledger',
  failures: [404],
  async handle({ name }, { services, caller }) {
    await services.tenancy.change(actorOf(caller), async tx => {
      await existing(tx, name)
      return tx.delete('tag', name)
    })
    return { message: `Tag ${name} deleted successfully` }
  },
})

/** Everything under `/tag` but what is spent. */
export const tagEndpoints: readonly Endpoint[] = [tagNew, tagUpdate, tagInfo, tagList, tagDelete]
