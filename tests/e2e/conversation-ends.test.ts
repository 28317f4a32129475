/** Answers that lose their process, or whose end the database does not take: nothing that was paid is forgotten. */
import { join } from 'node:path'
import { SQL } from 'bun'
import { afterAll, expect, test } from 'bun:test'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Backend, Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

const environment = { MODELGATE_ENCRYPTION_KEY: 'an encryption key of more than 32 characters' }
const cleanups: (() => unknown)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Its gateways share the database. */
async function opened(backend: Backend) {
  const place = await backend.open()
  cleanups.push(place.close)
  return { ...place, backend: { name: backend.name, open: async () => ({ ...place, close: async () => {} }) } }
}

async function started(backend: Backend): Promise<Gateway> {
  const gateway = await startGateway({ backend, environment })
  cleanups.push(gateway.stop)
  return gateway
}

/** Requests of one key. */
const caller = (url: string, key: string) => async (method: string, path: string, body?: object) => {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${url}/chat/conversations${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text
}
const askSlowly = async (call: ReturnType<typeof caller>, tokens: number): Promise<{ id: string; answer: string }> => {
  const { id } = JSON.parse(await call('POST', '', {}))
  const body = { text: `tokens: ${tokens}`, models: ['fault/sim#token-ms;ms=20'], parent_id: null }
  const { answers } = JSON.parse(await call('POST', `/${id}/messages`, body))
  return { id, answer: answers[0].id }
}
const answerOf = async (call: ReturnType<typeof caller>, id: string): Promise<Json> =>
  JSON.parse(await call('GET', `/${id}`)).messages[1]

for (const backend of backends()) {
  test(`${backend.name}: an answer that was not stored to its end is interrupted, with the tokens and the cost of its call`, async () => {
    const { backend: shared, databaseUrl } = await opened(backend)
    const gateway = await started(shared)
    const sql = new SQL(databaseUrl ?? `sqlite:${join(gateway.dataDirectory, 'modelgate.sqlite')}`)
    cleanups.push(() => sql.close())
    if (!databaseUrl) await sql`pragma busy_timeout = 10000`
    const call = caller(gateway.url, await gateway.key())
    const { id, answer } = await askSlowly(call, 150)
    const row = async () => (await sql`select * from conversation_messages where id = ${answer}`)[0] as Json
    const begun = await row()
    // As it is stored after a second: with a part of the text, and the id of the call.
    const partly = await until(async () => {
      const now = await row()
      return now.content !== begun.content && now
    })
    await call('GET', `/${id}/messages/${answer}/events`)
    const whole = await answerOf(call, id)
    expect(whole.status).toBe('completed')
    // What a process that is killed before its last write leaves behind.
    await sql`update conversation_messages set status = 'running', content = ${partly.content}, updated_at_ms = 0
      where id = ${answer}`
    const { status, content } = await answerOf(call, id)
    expect([status, content.error.code]).toEqual(['failed', 'interrupted'])
    expect(whole.content.text).toStartWith(content.text)
    expect(content.text.length).toBeGreaterThan(0)
    expect([content.cost, content.output_tokens, content.call_id]).toEqual([
      whole.content.cost,
      whole.content.output_tokens,
      whole.content.call_id,
    ])
  })
}

test('SQLite: an answer whose end cannot be stored is shown whole, and stored once the database takes it', async () => {
  const gateway = await started((await opened(backends()[0]!)).backend)
  const sql = new SQL(`sqlite:${join(gateway.dataDirectory, 'modelgate.sqlite')}`)
  // The gateway writes to the same file.
  await sql`pragma busy_timeout = 10000`
  cleanups.push(() => sql.close())
  const call = caller(gateway.url, await gateway.key())
  const { id, answer } = await askSlowly(call, 20)
  const statusOf = async () => (await sql`select status from conversation_messages where id = ${answer}`)[0].status
  // Another program holds the file while the answer ends.
  await sql.begin('immediate', async () => {
    const events = await call('GET', `/${id}/messages/${answer}/events`)
    expect(events).toContain('"status":"completed"')
    expect((await answerOf(call, id)).status).toBe('completed')
  })
  await until(async () => (await statusOf()) === 'completed')
  expect((await answerOf(call, id)).content.error ?? null).toBeNull()
})

const shared = backends().find(one => one.name !== 'SQLite')
test.skipIf(!shared)(
  'an answer of a process that was killed is ended at another replica, with what had come',
  async () => {
    const { backend, databaseUrl, redisUrl } = await opened(shared!)
    const other = await started(backend)
    const config = standardConfig.replaceAll('{simulator}', other.simulator.url.replace(/\/$/, ''))
    const maker = await startGatewayProcess(config, {
      ...environment,
      DATABASE_URL: databaseUrl!,
      REDIS_URL: redisUrl!,
      MODELGATE_MASTER_KEY: masterKey,
    })
    cleanups.push(maker.stop)
    const key = await other.key()
    const { id, answer } = await askSlowly(caller(maker.url, key), 5000)
    const call = caller(other.url, key)
    await until(async () => (await answerOf(call, id)).content.text !== '')
    const followed = call('GET', `/${id}/messages/${answer}/events`)
    process.kill(maker.pid, 'SIGKILL')
    const events = await followed
    expect(events).toContain('"code":"interrupted"')
    const { status, content } = await answerOf(call, id)
    expect([status, content.error.code, content.text.length > 0]).toEqual(['failed', 'interrupted', true])
    // It can be answered again.
    const question = JSON.parse(await call('GET', `/${id}`)).messages[0].id
    const again = JSON.parse(await call('POST', `/${id}/messages/${question}/answers`, { models: ['chat-model'] }))
    expect(await call('GET', `/${id}/messages/${again.answers[0].id}/events`)).toContain('"status":"completed"')
  },
)
