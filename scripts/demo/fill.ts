/** Makes the organisation through the public API, as its administrators would have done. */
import { demoCustomers, demoKeys, demoOrganization, demoTeams, demoUsers } from './people.ts'
import type { DemoKey } from './people.ts'

/** Asks the gateway with the master key; throws what it answered instead of a success. */
export type AskGateway = (path: string, body?: object, method?: string) => Promise<Record<string, unknown>>

/** A key that was made: its text is known to the demo alone. */
export interface MadeKey {
  readonly plan: DemoKey
  readonly id: string
  /** What is written in `Authorization`. */
  readonly text: string
}

/** Requests to one gateway. */
export function gatewayAsker(url: string, key: string): AskGateway {
  return async (path, body, method = body === undefined ? 'GET' : 'POST') => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return JSON.parse(text) as Record<string, unknown>
  }
}

/** `pass` is called between steps: each has a moment of its own in the audit log. */
export async function fillOrganization(
  ask: AskGateway,
  { password, pass }: { readonly password: string; readonly pass: () => void },
): Promise<MadeKey[]> {
  const step = async (path: string, body: object) => {
    const answer = await ask(path, body)
    pass()
    return answer
  }
  const { id, name } = demoOrganization
  await step('/organization/new', { organization_id: id, organization_alias: name })
  for (const { id: user_id, name: user_alias, role: user_role } of demoUsers) {
    const user_email = `${user_id}@nordwind.example`
    await step('/user/new', { user_id, user_alias, user_role, user_email, auto_create_key: false })
    await ask('/sign-in/password', { user_id, new_password: password })
  }
  for (const { id: team_id, name: team_alias, models, guardrails } of demoTeams) {
    const members = demoUsers.filter(one => one.team === team_id)
    await step('/team/new', {
      team_id,
      team_alias,
      organization_id: id,
      models,
      guardrails,
      members_with_roles: members.map(one => ({ user_id: one.id, role: one.leads === 'team' ? 'admin' : 'user' })),
      team_member_permissions: ['/key/info', '/key/health', '/key/generate', '/key/update', '/key/delete'],
    })
  }
  for (const one of demoUsers.filter(user => user.leads === 'organization'))
    await step('/organization/member_add', {
      organization_id: id,
      member: { user_id: one.id, role: 'org_admin' },
    })
  await step('/budget/new', { budget_id: 'partners', max_budget: 25, budget_duration: '1mo', rpm_limit: 60 })
  for (const { id: user_id, name: alias } of demoCustomers)
    await step('/customer/new', { user_id, alias, budget_id: 'partners' })
  await step('/tag/new', { name: 'helpdesk', description: 'Questions of customers' })
  const made: MadeKey[] = []
  for (const plan of demoKeys) made.push(await makeKey(step, plan))
  return made
}

async function makeKey(step: (path: string, body: object) => ReturnType<AskGateway>, plan: DemoKey): Promise<MadeKey> {
  const { alias, team, user, tags = [], requestsPerMinute, state } = plan
  const made = await step('/key/generate', {
    key_alias: alias,
    team_id: team,
    ...(user !== undefined && { user_id: user }),
    ...(requestsPerMinute !== undefined && { rpm_limit: requestsPerMinute }),
    ...(state === 'expiring' && { duration: '70d' }),
    tags,
  })
  const { key, token_id: id } = made as { key: string; token_id: string }
  if (state === 'blocked') await step('/key/block', { key: id })
  return { plan, id, text: key }
}
