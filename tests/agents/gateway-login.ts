/**
 * Claude Code's own sign-in to a gateway ("Cloud gateway" of its /login), as a person does it in a terminal: trust,
 * code, approval in the browser, confirmation of the account. Then headless turns with what it has stored, on a
 * simulated upstream of a foreign vendor, a renewal of the token, and the end of its right in mid-session, when the
 * directory removes the person. Claude Code as `npm run agents` installs it (MODELGATE_AGENTS_DIR).
 *
 *   node bin/bun.mjs tests/agents/gateway-login.ts
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { standardConfig, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { browserOfAda, leaveDirectory, offeredTools, Place, says, turnMs } from './place.ts'
import { keys, Terminal } from './terminal.ts'
import type { Browser } from '../support/sign-in/browser-session.ts'
import { until } from '../support/until.ts'

/** The right has to end within this after the directory's removal. */
const endMsMax = 1000

const config = `${standardConfig}
general_settings:
  managed_settings: { env: { MANAGED_CANARY: "4711" } }
`

interface Credentials {
  readonly enterpriseGateway?: {
    readonly url: string
    readonly jwt: string
    readonly expiresAt: number
    readonly idpRefreshToken: string
  }
}

const credentialsFile = ({ home }: Place) => join(home, '.claude/.credentials.json')
const credentialsOf = (place: Place): Credentials => JSON.parse(readFileSync(credentialsFile(place), 'utf8'))

function writeSettings(place: Place, gateway: Gateway): void {
  mkdirSync(join(place.home, '.claude'))
  const env = { ANTHROPIC_MODEL: 'chat-model', ANTHROPIC_DEFAULT_HAIKU_MODEL: 'chat-model' }
  const settings = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: gateway.url, env }
  writeFileSync(join(place.home, '.claude/settings.json'), JSON.stringify(settings))
}

async function login(place: Place, browser: Browser): Promise<void> {
  const { CI: _, ...environment } = place.environment
  const terminal = new Terminal(['claude'], {
    cwd: place.work,
    environment: { ...environment, BROWSER: '/bin/true' },
  })
  try {
    await terminal.follow([
      { sees: /Choosethetextstyle/, presses: keys.enter },
      { sees: /Cloudgateway.*Entertoconnect/, presses: keys.enter },
      { sees: /Yes,trustthisgateway❯No/, presses: keys.up },
      { sees: /❯Yes,trustthisgateway/, presses: keys.enter },
    ])
    const code = await terminal.sees(/Code:([A-Z]{4}-[A-Z]{4})/)
    const approved = await browser.post('/device', { user_code: code, decision: 'approve' })
    if (approved.status !== 200) throw new Error(`the approval: ${approved.status}`)
    await terminal.follow([
      { sees: /asada@example\.com.*Yes,continue❯No/, presses: keys.up },
      { sees: /❯Yes,continue/, presses: keys.enter },
    ])
    await terminal.sees(/ConnectedtoCloudgateway/)
  } finally {
    await terminal.close()
  }
}

async function check(gateway: Gateway, place: Place): Promise<string[]> {
  const { simulator } = gateway
  writeSettings(place, gateway)
  await login(place, await browserOfAda(gateway))
  const stored = credentialsOf(place).enterpriseGateway
  if (stored?.url !== gateway.url) return ['no credential of the gateway was stored']
  console.log('ok   Claude Code has signed in by itself, in a terminal')
  simulator.script(({ body }) => says(body, 'PLEASE-ANSWER'), { text: 'TEXT-TURN-DONE' })
  const answered = await place.run(['claude', '-p', 'PLEASE-ANSWER with two words'])
  if (!answered.includes('TEXT-TURN-DONE')) return [`text turn: ${answered.slice(-1500)}`]
  if ((await gateway.rows('&user_id=ada')).length === 0) return ['the call is not on the ledger as a call of ada']
  console.log('ok   headless, a foreign model answers in the name of ada')
  const canary = await managedCanary(gateway, place)
  if (canary !== undefined) return [canary]
  return [...(await renewal(place)), ...(await removal(gateway, place))]
}

/** The managed settings set a variable, which a tool prints. */
async function managedCanary(gateway: Gateway, place: Place): Promise<string | undefined> {
  const { simulator } = gateway
  const tool = { name: 'Bash', arguments: { command: 'echo managed-is-$MANAGED_CANARY' } }
  simulator.script(({ body }) => says(body, 'managed-is-4711'), { text: 'MANAGED-TURN-DONE' })
  simulator.script(({ body }) => says(body, 'PLEASE-PRINT') && says(body, 'Bash'), { toolCalls: [tool], times: 1 })
  const answered = await place.run(['claude', '-p', 'PLEASE-PRINT it', '--allowedTools', 'Bash'])
  if (!answered.includes('MANAGED-TURN-DONE')) return `managed settings have no effect: ${answered.slice(-1500)}`
  console.log('ok   the managed settings of the gateway hold')
  return undefined
}

/** The token's end is set into the past: the next start has to renew it. */
async function renewal(place: Place): Promise<string[]> {
  const before = credentialsOf(place)
  const past = { ...before.enterpriseGateway!, expiresAt: Date.now() - 1000 }
  writeFileSync(credentialsFile(place), JSON.stringify({ ...before, enterpriseGateway: past }))
  const answered = await place.run(['claude', '-p', 'PLEASE-ANSWER again'])
  if (!answered.includes('TEXT-TURN-DONE')) return [`after the end of its token: ${answered.slice(-1500)}`]
  const { jwt, idpRefreshToken } = credentialsOf(place).enterpriseGateway!
  if (jwt === past.jwt || idpRefreshToken === past.idpRefreshToken) return ['it has not renewed its token']
  console.log('ok   it renews its token, with another refresh token')
  return []
}

async function removal(gateway: Gateway, place: Place): Promise<string[]> {
  const { simulator } = gateway
  if (!offeredTools(gateway).includes('Bash')) return [`offers no shell: ${offeredTools(gateway).join(', ')}`]
  const tool = { name: 'Bash', arguments: { command: 'sleep 5; echo AFTER-THE-TOOL' } }
  let sentAfter = false
  simulator.script(
    ({ body }) => {
      if (says(body, 'AFTER-THE-TOOL') && says(body, 'tool_call_id')) sentAfter = true
      return false
    },
    { text: '' },
  )
  simulator.script(({ body }) => says(body, 'PLEASE-WAIT') && says(body, 'Bash'), { toolCalls: [tool], times: 1 })
  const calls = simulator.truth.entries.length
  const running = place.run(['claude', '-p', 'PLEASE-WAIT with the shell', '--allowedTools', 'Bash'])
  await until(() => simulator.truth.entries.length > calls, 'it has its tool call', turnMs)
  const jwt = credentialsOf(place).enterpriseGateway!.jwt
  const removedMs = await leaveDirectory(gateway, 'ada@example.com')
  const ask = () => fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${jwt}` } })
  while ((await ask()).status !== 401 && performance.now() - removedMs < turnMs) await Bun.sleep(5)
  const tookMs = Math.round(performance.now() - removedMs)
  const startMs = performance.now()
  const ended = await running
  const saysSo = ended.split('\n').find(line => /log ?in|sign|401|authenticat/i.test(line)) ?? ended
  console.log(`ok   its right ended ${tookMs} ms after the removal by SCIM, while a tool ran; it says after`)
  console.log(`     ${((performance.now() - startMs) / 1000).toFixed(1)} s: ${saysSo.slice(0, 200)}`)
  return [
    ...(sentAfter ? ['a call was served after the person was removed'] : []),
    ...(tookMs > endMsMax ? [`its right ended after ${tookMs} ms only`] : []),
  ]
}

const gateway = await startGateway({ config })
const place = new Place()
let problems: string[] = []
try {
  problems = await check(gateway, place)
} finally {
  await gateway.stop()
  place.remove()
}
for (const problem of problems) console.log(`FAIL ${problem}`)
process.exit(problems.length > 0 ? 1 : 0)
