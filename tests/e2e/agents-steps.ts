import { Browser } from './browser.ts'
import type { Ask } from './tenancy-steps.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Every operation of coding agents, once: sign-in by the device flow, settings, telemetry. */
export async function useAgents(ask: Ask, url: string): Promise<void> {
  const open = { key: '' }
  await ask('GET', '/.well-known/oauth-authorization-server', open)
  const asked = await ask('POST', '/oauth/device_authorization', {
    ...open,
    body: new URLSearchParams({ client_id: 'agent' }),
  })
  await ask('POST', '/user/new', { body: { user_id: 'dora', auto_create_key: false } })
  await ask('POST', '/sign-in/password', { body: { user_id: 'dora', new_password: 'a long enough one' } })
  const browser = new Browser(url)
  await browser.signIn('dora', 'a long enough one')
  const session = {
    cookie: [...browser.cookies].map(pair => pair.join('=')).join('; '),
    origin: url,
    'sec-fetch-site': 'same-origin',
  }
  await ask('GET', '/device', { ...open, query: `user_code=${asked.user_code}`, headers: session })
  const decision = new FormData()
  decision.set('user_code', String(asked.user_code))
  decision.set('decision', 'approve')
  await ask('POST', '/device', { ...open, body: decision, headers: session })
  const tokens = await ask('POST', '/oauth/token', {
    ...open,
    body: new URLSearchParams({ grant_type: deviceGrant, device_code: String(asked.device_code) }),
  })
  const key = String(tokens.access_token)
  await ask('GET', '/managed/settings', { key })
  for (const signal of ['metrics', 'logs', 'traces'])
    for (const type of ['application/json', 'application/x-protobuf'])
      await ask('POST', `/v1/${signal}`, { key, body: {}, headers: { 'content-type': type } })
  await ask('POST', '/oauth/revoke', { ...open, body: new URLSearchParams({ token: String(tokens.refresh_token) }) })
  await ask('POST', '/user/delete', { body: { user_ids: ['dora'] } })
}
