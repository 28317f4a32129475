/** Customers: end users of clients' applications, without keys. `/end_user` is another name of `/customer`. */
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { keyName } from '../../access/fields/checks.ts'
import { customerBody, customerChanges, newCustomer, shownCustomer } from '../../access/fields/tenant-fields.ts'
import type { Endpoint, EndpointContext, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { customerFields, spendingFields } from '../../core/tenancy/field-tables.ts'
import type { Customer } from '../../core/tenancy/tenancy.ts'
import type { TenancyTransaction } from '../../core/tenancy/tenancy-store.ts'
import { checkGroups } from './common/access.ts'
import { blockingEndpoints } from './common/blocking-endpoints.ts'
import { spendingStateFields, spendingStateOf } from './common/budget-states.ts'
import {
  checkedSpending,
  pageQueryFields,
  pageFields,
  pageFieldSchemas,
  pageOf,
  spendSchema,
  spentBy,
} from '../common/answers.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { integer, listOf, named, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'

const customerFieldSchemas = () => ({
  ...fieldSchemas(customerFields),
  spend: spendSchema,
  litellm_budget_table: shape(fieldSchemas(spendingFields)),
})
const customerSchema = named('Customer', () => shape(customerFieldSchemas()))

const about = { tag: 'Customers', answer: customerSchema }
const paths = (name: string): string[] => [`/customer/${name}`, `/end_user/${name}`]
const severalCustomers = lazy(() => z.strictObject({ user_ids: z.array(keyName()).min(1).max(1000) }))

async function customerRows(
  services: Services,
  customers: readonly Customer[],
): Promise<ValueOf<typeof customerSchema>[]> {
  const spent = await spentBy(
    services,
    'customer',
    customers.map(one => one.id),
  )
  return customers.map(one => shownCustomer(one, spent(one.id)))
}

const customerNew = withBody(customerBody, {
  ...about,
  paths: paths('new'),
  auth: 'admin',
  operationId: 'createCustomer',
  summary: 'Make a customer: `user` of calls',
  failures: [409],
  async handle({ user_id: id, version: _, ...fields }, { services, caller }) {
    const record = checkedSpending(newCustomer(id, fields))
    const made = await services.tenancy.change(actorOf(caller), async tx => {
      await checkGroups(tx, record)
      return tx.insert('customer', record)
    })
    return (await customerRows(services, [made]))[0]!
  },
})

const customerUpdate = withBody(customerBody, {
  ...about,
  paths: paths('update'),
  auth: 'admin',
  operationId: 'updateCustomer',
  summary: 'Change a customer; only the fields sent change',
  failures: [404, 409],
  async handle({ user_id: id, version, ...fields }, { services, caller }) {
    const changed = await services.tenancy.change(actorOf(caller), async tx => {
      const before = await existing(tx, id, 'user_id')
      const changes = customerChanges(fields)
      checkedSpending({ ...before, ...changes }, before)
      await checkGroups(tx, changes)
      return tx.update('customer', id, changes, version)
    })
    return (await customerRows(services, [changed]))[0]!
  },
})

async function existing(reader: Pick<TenancyTransaction, 'find'>, id: string, param: string): Promise<Customer> {
  const found = await reader.find('customer', id)
  if (found) return found
  throw new GatewayError('not-found', `there is no customer '${id.slice(0, 100)}'; GET /customer/list lists them`, {
    param,
  })
}

/** Runs a change of several customers, all or none. */
function each(
  { services, caller }: EndpointContext,
  ids: readonly string[],
  work: (tx: TenancyTransaction, id: string) => Promise<Customer>,
) {
  return services.tenancy.change(actorOf(caller), async tx => {
    const done: Customer[] = []
    for (const id of new Set(ids)) {
      await existing(tx, id, 'user_ids')
      done.push(await work(tx, id))
    }
    return done
  })
}

const customerDelete = withBody(severalCustomers, {
  ...about,
  answer: named('DeletedCustomers', () => shape({ deleted_customers: integer, message: text })),
  paths: paths('delete'),
  auth: 'admin',
  operationId: 'deleteCustomers',
  summary: 'Delete customers, all or none; what they have spent stays in the ledger',
  failures: [404],
  async handle({ user_ids: ids }, context) {
    const gone = await each(context, ids, (tx, id) => tx.delete('customer', id))
    return {
      deleted_customers: gone.length,
      message: `Successfully deleted customers with ids: ${gone.map(one => one.id).join(', ')}`,
    }
  },
})

const customerBlocking = blockingEndpoints(severalCustomers, {
  ...about,
  answer: named('BlockedCustomers', () => shape({ blocked_users: listOf(customerSchema) })),
  auth: 'admin',
  block: { paths: paths('block'), operationId: 'blockCustomers', summary: 'Refuse calls of customers at once' },
  unblock: {
    paths: paths('unblock'),
    operationId: 'unblockCustomers',
    summary: 'Let calls of customers work again',
  },
  async setBlocked(blocked, { user_ids: ids }, context) {
    const changed = await each(context, ids, (tx, id) => tx.update('customer', id, { blocked }))
    return { blocked_users: await customerRows(context.services, changed) }
  },
})

const customerInfo = withQuery(() => z.strictObject({ end_user_id: keyName() }), {
  ...about,
  answer: named('CustomerInfo', () => shape({ ...customerFieldSchemas(), ...spendingStateFields })),
  paths: paths('info'),
  auth: 'viewer',
  operationId: 'getCustomer',
  summary: 'One customer',
  failures: [404],
  async handle({ end_user_id: id }, { services }) {
    const found = await existing(services.tenancy, id, 'end_user_id')
    const [row] = await customerRows(services, [found])
    return { ...row!, ...(await spendingStateOf(services, 'customer', found)) }
  },
})

const listQuery = lazy(() => z.strictObject(pageQueryFields({ most: 1000, usual: 1000 })))
const customerList = withQuery(listQuery, {
  ...about,
  answer: named('CustomerList', () => listOf(customerSchema)),
  paths: paths('list'),
  auth: 'viewer',
  operationId: 'listCustomers',
  summary: 'Customers, newest first, at most 1000 a page',
  async handle({ page, page_size: size, cursor }, { services }) {
    const { items } = await services.tenancy.list('customer', {}, pageOf(page, size, cursor))
    return customerRows(services, items)
  },
})

const pagesQuery = lazy(() =>
  listQuery().extend({ search: keyName().optional().describe('It is the whole id, or a part of the alias.') }),
)
const customerPages = withQuery(pagesQuery, {
  ...about,
  answer: named('CustomerPage', () => shape({ customers: listOf(customerSchema), ...pageFieldSchemas })),
  paths: ['/v2/customer/list', '/v2/end_user/list'],
  auth: 'viewer',
  operationId: 'listCustomerPages',
  summary: 'Customers, with the number of pages and a cursor',
  async handle({ search, page, page_size: size, cursor }, { services }) {
    const { items, total } = await services.tenancy.list('customer', { named: search }, pageOf(page, size, cursor))
    return {
      customers: await customerRows(services, items),
      ...pageFields({ items, total }, page, size),
    }
  },
})

/** Everything under `/customer` and `/end_user`. */
export const customerEndpoints: readonly Endpoint[] = [
  customerNew,
  customerUpdate,
  customerDelete,
  ...customerBlocking,
  customerInfo,
  customerList,
  customerPages,
]
