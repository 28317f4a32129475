/**
 * `npm run login-flood`: what 10,000 wrong passwords in a minute cost a gateway's small calls, and whether the right
 * password from elsewhere still signs in. Seconds without anything else, seconds beside as many requests of a cheap
 * kind (the control: they cost processor time here and there, too), and seconds beside passwords take turns, so that a
 * change of the machine counts for all; the gateway, the flood and the calls have a process of their own.
 *
 *   npm run login-flood [-- --seconds 60 --per-second 167 --rounds 6]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import type { Flood, FloodCounts } from './flooder.ts'

const ratioMax = 1.2
const callsPerSecond = 100
const pauseMs = 6000
const triesMax = 4
const password = 'correct horse battery'
const names = { calm: 'alone', control: 'beside the control', passwords: 'beside wrong passwords' } as const

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '6' },
    'per-second': { type: 'string', default: String(Math.ceil(10_000 / 60)) },
  },
})
const rounds = Number(values.rounds)
const phaseMs = (Number(values.seconds) * 1000) / rounds
const perSecond = Number(values['per-second'])

const config = `
model_list: []
general_settings: { trusted_proxies: [127.0.0.0/8] }
`

/** Calls at a steady rate, each timed from when it was due: one that waits for another counts its wait. */
async function calls(gateway: GatewayProcess, key: string, forMs: number): Promise<number[]> {
  const tookMs: number[] = []
  const startedMs = performance.now()
  const call = async (dueMs: number) => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/simulated-chat', messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`a call was answered with ${answer.status}`)
    tookMs.push(performance.now() - dueMs)
  }
  const pending: Promise<void>[] = []
  for (let at = 0; performance.now() - startedMs < forMs; at++) {
    const dueMs = startedMs + (at * 1000) / callsPerSecond
    while (performance.now() < dueMs) await Bun.sleep(1)
    pending.push(call(dueMs))
  }
  await Promise.all(pending)
  return tookMs
}

/**
 * Ann, from an address that has not failed, and without a cookie of before; waits and tries again as she is told. The
 * number of tries, 0 = she was not let in.
 */
async function rightPassword(gateway: GatewayProcess, at: number): Promise<number> {
  for (let tries = 1; tries <= triesMax; tries++) {
    const answer = await fetch(`${gateway.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': `192.${at}.2.1` },
      body: JSON.stringify({ username: 'ann', password }),
    })
    await answer.arrayBuffer()
    if (answer.status === 200) return tries
    await Bun.sleep(Number(answer.headers.get('retry-after') ?? 1) * 1000)
  }
  return 0
}

const quantile = (all: readonly number[], part: number): number =>
  all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * part))]!

let stopped: (counts: FloodCounts) => void = () => {}
const flooder = Bun.spawn([process.execPath, join(import.meta.dir, 'flooder.ts')], {
  stdout: 'inherit',
  stderr: 'inherit',
  ipc: (counts: FloodCounts) => stopped(counts),
})

function stopFlood(): Promise<FloodCounts> {
  return new Promise(resolve => {
    stopped = resolve
    flooder.send('stop')
  })
}

/** Calls beside a flood, and what became of the flood. */
async function beside(kind: Flood['kind'], gateway: GatewayProcess, key: string): Promise<[number[], FloodCounts]> {
  flooder.send({ url: gateway.url, perSecond, kind } satisfies Flood)
  const tookMs = await calls(gateway, key, phaseMs)
  return [tookMs, await stopFlood()]
}

const gateway = await startGatewayProcess(config)
try {
  await gateway.admin('/user/new', { user_id: 'ann', auto_create_key: false })
  await gateway.admin('/sign-in/password', { user_id: 'ann', new_password: password })
  const key = await gateway.key()
  await calls(gateway, key, 2000)
  const took: Record<'calm' | Flood['kind'], number[]> = { calm: [], control: [], passwords: [] }
  const total: FloodCounts = {}
  const signIns: Promise<number>[] = []
  for (let round = 0; round < rounds; round++) {
    took.calm.push(...(await calls(gateway, key, phaseMs)))
    took.control.push(...(await beside('control', gateway, key))[0])
    const during = beside('passwords', gateway, key)
    await Bun.sleep(phaseMs / 2)
    signIns.push(rightPassword(gateway, round + 1))
    const [tookMs, counts] = await during
    took.passwords.push(...tookMs)
    for (const [status, count] of Object.entries(counts)) total[Number(status)] = (total[Number(status)] ?? 0) + count
    // Those who wait for their password to be checked are through.
    await Bun.sleep(pauseMs)
  }
  const [p50, p99] = [0.5, 0.99].map(part => (of: keyof typeof took) => quantile(took[of], part))
  const tries = await Promise.all(signIns)
  const sent = Object.values(total).reduce((sum, count) => sum + count, 0)
  console.log(
    `${sent} wrong passwords in ${Number(values.seconds)} s, by the status of their answers: ${JSON.stringify(total)}`,
  )
  for (const of of ['calm', 'control', 'passwords'] as const)
    console.log(`small calls ${names[of]}: p50 ${p50!(of).toFixed(2)} ms, p99 ${p99!(of).toFixed(2)} ms`)
  const ratio = p99!('passwords') / p99!('control')
  console.log(`p99 ${ratio.toFixed(2)} times that beside as many requests that cost next to nothing (bar ${ratioMax})`)
  console.log(`p99 ${(p99!('passwords') / p99!('calm')).toFixed(2)} times that of calls alone`)
  console.log(`tries until the right password from elsewhere signed in, once a round (0 = never): ${tries.join(' ')}`)
  process.exitCode = ratio <= ratioMax && !tries.includes(0) ? 0 : 1
} finally {
  flooder.kill()
  await gateway.stop()
}
