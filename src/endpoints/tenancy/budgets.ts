/** Named budgets: limits and a budget for many keys, users, teams, organizations, customers and tags. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { keyName } from '../../access/fields/checks.ts'
import {
  budgetBody,
  budgetChanges,
  budgetSettings,
  budgetUpdateBody,
  newBudget,
  shownBudget,
} from '../../access/fields/tenant-fields.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { budgetFields } from '../../core/tenancy/field-tables.ts'
import type { NamedBudget } from '../../core/tenancy/tenancy.ts'
import { lazy } from '../../lib/lazy.ts'
import { budgetUsage } from './common/budget-usage.ts'
import { checkedSpending, pageQueryFields, pageFields, pageFieldSchemas, pageOf } from '../common/answers.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { anything, listOf, named, shape, text } from '../openapi/schema.ts'

const budgetSchema = named('Budget', () => shape(fieldSchemas(budgetFields)))
const budgetListSchema = named('BudgetList', () => listOf(budgetSchema))

const about = { tag: 'Budgets', answer: budgetSchema }

const budgetNew = withBody(budgetBody, {
  ...about,
  paths: ['/budget/new'],
  auth: 'admin',
  operationId: 'createBudget',
  summary: 'Make a named budget; its first window begins now',
  failures: [409],
  async handle({ budget_id: id, ...fields }, { services, caller }) {
    const record = checkedSpending(newBudget(id ?? randomUUIDv7(), fields, services.clock.epochMs()))
    return shownBudget(await services.tenancy.change(actorOf(caller), tx => tx.insert('budget', record)))
  },
})

const budgetUpdate = withBody(budgetUpdateBody, {
  ...about,
  paths: ['/budget/update'],
  auth: 'admin',
  operationId: 'updateBudget',
  summary: 'Change a named budget, and with it everything that uses it',
  failures: [404, 409],
  async handle({ budget_id: id, version, ...fields }, { services, caller }) {
    const changed = await services.tenancy.change(actorOf(caller), async tx => {
      const changes = budgetChanges(fields)
      const before = await existing({ tenancy: tx }, id)
      checkedSpending({ ...before, ...changes }, before)
      return tx.update('budget', id, changes, version)
    })
    return shownBudget(changed)
  },
})

async function existing({ tenancy }: { tenancy: Pick<Services['tenancy'], 'find'> }, id: string): Promise<NamedBudget> {
  const found = await tenancy.find('budget', id)
  if (found) return found
  throw new GatewayError('not-found', `there is no budget '${id.slice(0, 100)}'; GET /budget/list lists them`, {
    param: 'budget_id',
  })
}

const budgetInfo = withBody(() => z.strictObject({ budgets: z.array(keyName()).min(1).max(1000) }), {
  ...about,
  answer: budgetListSchema,
  answersAreListed: true,
  paths: ['/budget/info'],
  auth: 'viewer',
  operationId: 'getBudgets',
  summary: 'Several named budgets; those that do not exist are left out',
  async handle({ budgets: ids }, { services }) {
    return (await services.tenancy.findAll('budget', [...new Set(ids)])).map(shownBudget)
  },
})

const budgetSettingsOf = withQuery(() => z.strictObject({ budget_id: keyName() }), {
  ...about,
  answer: named('BudgetSettings', () =>
    listOf(shape({ field_name: text, field_description: text, field_value: anything })),
  ),
  paths: ['/budget/settings'],
  auth: 'viewer',
  operationId: 'getBudgetSettings',
  summary: 'The fields of a budget with their meanings and values',
  failures: [404],
  async handle({ budget_id: id }, { services }) {
    const shown: Readonly<Record<string, unknown>> = shownBudget(await existing(services, id))
    return budgetSettings.map(one => ({ ...one, field_value: shown[one.field_name] ?? null }))
  },
})

const budgetList = withQuery(() => z.strictObject({}), {
  ...about,
  answer: budgetListSchema,
  paths: ['/budget/list'],
  auth: 'viewer',
  operationId: 'listBudgets',
  summary: 'The newest 1000 named budgets',
  async handle(_, { services }) {
    return (await services.tenancy.list('budget', {}, { limit: 1000 })).items.map(shownBudget)
  },
})

const pagesQuery = lazy(() => z.strictObject(pageQueryFields({ most: 1000, usual: 50 })))
const budgetPages = withQuery(pagesQuery, {
  ...about,
  answer: named('BudgetPage', () => shape({ budgets: listOf(budgetSchema), ...pageFieldSchemas })),
  paths: ['/v2/budget/list'],
  auth: 'viewer',
  operationId: 'listBudgetPages',
  summary: 'Named budgets, newest first, with a cursor',
  async handle({ page, page_size: size, cursor }, { services }) {
    const { items, total } = await services.tenancy.list('budget', {}, pageOf(page, size, cursor))
    return {
      budgets: items.map(shownBudget),
      ...pageFields({ items, total }, page, size),
    }
  },
})

const budgetDelete = withBody(() => z.strictObject({ id: keyName() }), {
  ...about,
  paths: ['/budget/delete'],
  auth: 'admin',
  operationId: 'deleteBudget',
  summary: 'Delete a named budget that nothing uses',
  failures: [404, 409],
  async handle({ id }, { services, caller }) {
    return shownBudget(await services.tenancy.change(actorOf(caller), tx => tx.delete('budget', id)))
  },
})

/** Everything under `/budget`. */
export const budgetEndpoints: readonly Endpoint[] = [
  budgetNew,
  budgetUpdate,
  budgetInfo,
  budgetSettingsOf,
  budgetList,
  budgetPages,
  budgetUsage,
  budgetDelete,
]
