import { Browser } from './browser.ts'
import { masterKey } from './harness.ts'
import type { Ask } from './tenancy-steps.ts'

/** Every operation of signing in, once, in order. Leaves a user without sessions behind. */
export async function signInAndOut(ask: Ask, url: string): Promise<void> {
  const open = { key: '' }
  await ask('GET', '/fallback/login', open)
  await ask('GET', '/sign-in/methods', open)
  const asOperator = { username: 'admin', password: masterKey }
  await ask('POST', '/login', { ...open, body: asOperator })
  await ask('POST', '/v2/login', { ...open, body: asOperator })
  await ask('POST', '/login', { ...open, body: { ...asOperator, password: 'x' }, status: 401 })
  await ask('POST', '/user/new', { body: { user_id: 'iris', auto_create_key: false } })
  for (const path of ['/sign-in/invitations', '/invitation/new']) {
    const made = await ask('POST', path, { body: { user_id: 'iris' } })
    await ask('DELETE', '/sign-in/invitations/{id}', { in: { id: String(made.id) } })
  }
  const { url: link } = await ask('POST', '/sign-in/invitations', { body: { user_id: 'iris' } })
  const token = new URL(String(link)).searchParams.get('token')
  await ask('GET', '/fallback/password', { ...open, query: `token=${token}` })
  await ask('POST', '/sign-in/claim', { ...open, body: { token, password: 'a long enough one' } })
  await ask('POST', '/sign-in/claim', { ...open, body: { token, password: 'a long enough one' }, status: 404 })
  await ask('GET', '/fallback/forgotten-password', open)
  await ask('POST', '/fallback/forgotten-password', { ...open, body: { email: 'iris@example.com' } })
  const { url: second } = await ask('POST', '/sign-in/invitations', { body: { user_id: 'iris' } })
  const link2 = new URL(String(second)).searchParams.get('token')
  await ask('GET', '/onboarding/get_token', { ...open, query: `invite_link=${link2}` })
  const claiming = { invitation_link: link2, user_id: 'iris', password: 'a third one, long' }
  await ask('POST', '/onboarding/claim_token', { ...open, body: claiming })
  await ask('POST', '/sign-in/password', { body: { user_id: 'iris', new_password: 'another one, longer' } })
  await new Browser(url).signIn('iris', 'another one, longer')
  await ask('GET', '/sign-in/session')
  const { sessions } = await ask('GET', '/sign-in/sessions', { query: 'user_id=iris' })
  const [{ id }] = sessions as [{ id: string }]
  await ask('DELETE', '/sign-in/sessions/{id}', { in: { id } })
  await ask('POST', '/sign-in/sessions/revoke-all', { body: { user_id: 'master' } })
  await ask('POST', '/sign-in/logout', { ...open, status: 403 })
  await ask('POST', '/sign-in/logout', { ...open, headers: { origin: url } })
  await ask('POST', '/user/delete', { body: { user_ids: ['iris'] } })
}
