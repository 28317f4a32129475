/**
 * Deployments that are switched off at run time, those of the file too, on a gateway whose models are of its file
 * alone.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

/** Answers every chat; `held` waits before it fails. */
function startUpstream() {
  const called: string[] = []
  const held = new Map<string, Promise<void>>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const name = new URL(request.url).pathname.split('/')[1]!
      called.push(name)
      const wait = held.get(name)
      if (wait) {
        await wait
        return Response.json({ error: { message: 'out of order' } }, { status: 500 })
      }
      return Response.json({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: name,
        choices: [{ index: 0, message: { role: 'assistant', content: name }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, called, held, stop: () => server.stop(true) }
}

const upstream = startUpstream()
const entry = (name: string, id: string, more = '') =>
  `  - { model_name: "${name}", proxy_params: { model: "custom_openai/${name.includes('*') ? '*' : name}", ` +
  `api_base: "${upstream.url}/${id}/v1", api_key: k${more} }, model_info: { id: ${id} } }\n`
const config = `model_list:
${entry('pair', 'pair-a', ', order: 1')}${entry('pair', 'pair-b', ', order: 2')}${entry('lonely', 'lonely')}
  - { model_name: batches, proxy_params: { model: openai/gpt-4o, api_base: "{simulator}/v1", api_key: k }, model_info: { id: batches } }
${entry('backed', 'backed')}${entry('spare', 'spare')}${entry('vendor/*', 'pattern')}${entry('*', 'rest')}
router_settings: { num_retries: 1, cooldown_time: 0, fallbacks: [{ backed: [lonely, spare] }] }
general_settings: { store_model_in_db: false }
`

let gateway: Gateway
beforeAll(async () => void (gateway = await startGateway({ config })))
afterAll(async () => {
  await gateway?.stop()
  upstream.stop()
})
const blocked = new Set<string>()
afterEach(async () => {
  for (const id of blocked) await gateway.admin('/model/unblock', { model_id: id })
  blocked.clear()
  upstream.called.length = 0
  upstream.held.clear()
})

const read = async (answer: Promise<Response>) => {
  const response = await answer
  return { status: response.status, body: (await response.json()) as Json & { data: Json[] } }
}
const get = (path: string) => read(gateway.admin(path))
const block = async (id: string, reason?: string) => {
  blocked.add(id)
  return read(gateway.admin('/model/block', { model_id: id, ...(reason !== undefined && { reason }) }))
}
const chat = async (model: string, more: object = {}) => {
  const body = { model, messages: [{ role: 'user', content: 'hi' }], ...more }
  const response = await gateway.admin('/v1/chat/completions', body)
  const answer = (await response.json()) as { error?: Json; choices?: { message: { content: string } }[] }
  return { status: response.status, said: answer.choices?.[0]?.message.content, error: answer.error }
}

test('a blocked deployment of the file gets no calls, by its name, by its id and as a fallback, and others do', async () => {
  expect((await chat('pair')).said).toBe('pair-a')
  expect(await block('pair-a', ' bill unpaid ')).toEqual({
    status: 200,
    body: {
      model_id: 'pair-a',
      model_name: 'pair',
      blocked: true,
      blocked_by: 'master',
      blocked_at: expect.stringMatching(/^20\d\d-/),
      blocked_reason: 'bill unpaid',
    } as never,
  })
  expect((await chat('pair')).said).toBe('pair-b')
  expect(await chat('pair-a')).toMatchObject({ status: 403, error: { code: 'model_blocked', param: 'model' } })
  expect((await chat('backed')).said).toBe('backed')
  await block('backed')
  await block('lonely')
  expect(await chat('backed')).toMatchObject({ status: 200, said: 'spare' })
  expect((await chat('spare', { fallbacks: ['lonely'] })).said).toBe('spare')
  const back = await read(gateway.admin('/model/unblock', { model_id: 'pair-a' }))
  expect(back.body).toMatchObject({ model_id: 'pair-a', blocked: false, blocked_by: null, blocked_reason: null })
  expect((await chat('pair')).said).toBe('pair-a')
  expect(upstream.called.filter(name => name === 'lonely')).toEqual([])
})

test('a model whose deployments are all blocked answers 403, charges nothing, and says so in lists and health', async () => {
  await block('lonely', 'under repair')
  const before = (await gateway.rows()).length
  const refused = await chat('lonely')
  expect(refused).toMatchObject({ status: 403, error: { name: 'PermissionDeniedError', code: 'model_blocked' } })
  expect(String(refused.error!.message)).toMatch(/'lonely' is switched off.*ask for another model/)
  // Why it is off is not for clients.
  expect(JSON.stringify(refused)).not.toContain('repair')
  expect(upstream.called).toEqual([])
  const rows = (await gateway.rows()).slice(0, -before || undefined)
  expect(rows.filter(row => row.model === 'lonely' && row.cost_nano_usd !== '0' && row.cost_nano_usd !== null)).toEqual(
    [],
  )
  const info = (await get('/v2/model/info?modelId=lonely')).body.data[0]!.model_info
  expect(info).toMatchObject({ blocked: true, blocked_by: 'master', blocked_reason: 'under repair' })
  expect((await get('/model_group/info?model_group=lonely')).body.data[0]).toMatchObject({
    blocked: true,
    health_status: 'unhealthy',
  })
  const listed = (await get('/v1/models')).body.data
  expect(listed.find(one => one.id === 'lonely')).toMatchObject({ blocked: true })
  expect(listed.find(one => one.id === 'spare')).not.toHaveProperty('blocked')
  const health = (await get('/health?model=lonely')).body
  expect(health.unchecked_endpoints).toMatchObject([{ model_id: 'lonely', blocked: true }])
  const history = (await get('/health/deployments')).body.deployments as Json[]
  expect(history.find(one => one.model_id === 'lonely')).toMatchObject({ blocked: true, blocked_by: 'master' })
  const key = await gateway.key({})
  const seen = await fetch(`${gateway.url}/model/info?proxy_model_id=lonely`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const [own] = ((await seen.json()) as { data: { model_info: Json }[] }).data
  expect(own!.model_info).toMatchObject({ blocked: true })
  expect(own!.model_info).not.toHaveProperty('blocked_reason')
})

test('a blocked pattern answers 403 for the names it matches, and does not give them to a wider pattern', async () => {
  expect((await chat('vendor/x')).said).toBe('pattern')
  await block('pattern')
  expect(await chat('vendor/x')).toMatchObject({ status: 403, error: { code: 'model_blocked' } })
  expect((await chat('other')).said).toBe('rest')
})

test('a call that began before the block does not go on to the blocked deployment', async () => {
  let fail = (): void => {}
  upstream.held.set('pair-a', new Promise(done => (fail = done)))
  const answer = chat('pair')
  while (!upstream.called.includes('pair-a')) await Bun.sleep(2)
  await block('pair-b')
  fail()
  expect((await answer).status).toBe(500)
  expect(upstream.called).not.toContain('pair-b')
})

test('the audit log tells who, when and why; repeating changes nothing, and requests at the same time agree', async () => {
  const answers = await Promise.all([block('spare', 'one'), block('spare', 'one'), block('spare', 'one')])
  expect(answers.map(one => [one.status, one.body.blocked])).toEqual([
    [200, true],
    [200, true],
    [200, true],
  ])
  await block('spare')
  await block('spare', 'two')
  const undone = ['/model/unblock', '/model/unblock'].map(path => read(gateway.admin(path, { model_id: 'spare' })))
  expect((await Promise.all(undone)).map(one => [one.status, one.body.blocked])).toEqual([
    [200, false],
    [200, false],
  ])
  const { audit_logs: logs } = (await get('/audit?object_id=spare')).body as unknown as { audit_logs: Json[] }
  expect(logs.map(one => [one.action, one.changed_by, one.before_value, one.updated_values]).reverse()).toEqual([
    ['created', 'master', null, expect.objectContaining({ model_name: 'spare', reason: 'one' })],
    ['updated', 'master', { reason: 'one' }, { reason: 'two' }],
    ['deleted', 'master', expect.objectContaining({ reason: 'two' }), null],
  ])
})

test('no file is sent to a blocked deployment, and no batch is started there, until it is switched on again', async () => {
  const body = { model: 'batches', messages: [{ role: 'user', content: 'hi' }] }
  const line = JSON.stringify({ custom_id: '1', method: 'POST', url: '/v1/chat/completions', body })
  const send = async () => {
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('model', 'batches')
    form.set('file', new Blob([line]), 'lines.jsonl')
    const headers = { authorization: `Bearer ${masterKey}` }
    return read(fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form }))
  }
  const start = (input_file_id: unknown) =>
    read(gateway.admin('/v1/batches', { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }))
  const file = await send()
  expect(file).toMatchObject({ status: 200 })
  await block('batches')
  const refused = [await send(), await start(file.body.id)]
  for (const { status, body: answer } of refused) {
    expect([400, 403, 422]).toContain(status)
    expect(JSON.stringify(answer)).toContain('is switched off')
  }
  // What is there is still read.
  expect((await get(`/v1/files/${file.body.id}`)).status).toBe(200)
  await gateway.admin('/model/unblock', { model_id: 'batches' })
  expect((await start(file.body.id)).status).toBe(200)
})

test('an unknown id and a wrong body are refused with what to do', async () => {
  expect(await block('nowhere')).toMatchObject({ status: 404, body: { error: { param: 'model_id' } } })
  const unblocked = await read(gateway.admin('/model/unblock', { model_id: 'nowhere' }))
  expect(unblocked).toMatchObject({ status: 404, body: { error: { param: 'model_id' } } })
  for (const body of [{}, { model_id: 'spare', reason: 'x'.repeat(501) }])
    expect((await gateway.admin('/model/block', body)).status).toBe(422)
})
