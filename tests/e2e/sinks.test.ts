/** Finished calls at each kind of sink, in the shape that it documents, in spite of receivers that fail at first. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../support/until.ts'
import { startGateway, standardConfig } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Taken {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Headers
  readonly text: string
}
const taken: Taken[] = []
const failing = new Set<string>()
const receiver = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname: path, searchParams: query } = new URL(request.url)
    const text = await request.text()
    const kind = path.split('/')[1]!
    // The first delivery to each fails.
    if (!failing.has(kind)) {
      failing.add(kind)
      return new Response('not now', { status: 503 })
    }
    taken.push({ path, query, headers: request.headers, text })
    if (path.startsWith('/kafka/')) return Response.json({ offsets: [{ partition: 0, offset: 1 }] })
    if (path.startsWith('/langfuse/')) return Response.json({ successes: [], errors: [] }, { status: 207 })
    return new Response('', { headers: { etag: '"x"' } })
  },
})
const syslogged: string[] = []
const syslog = Bun.listen({
  port: 0,
  hostname: '127.0.0.1',
  socket: { data: (_, bytes) => void syslogged.push(bytes.toString()) },
})
const folder = mkdtempSync(join(tmpdir(), 'modelgate-sinks-'))
const url = `http://127.0.0.1:${receiver.port}`
const config = `${standardConfig}
general_settings:
  usage_export:
    sinks:
      archive: { type: s3, bucket: calls, prefix: p, region: eu-central-1, url: "${url}", username: AKIDEXAMPLE, password: s3cret }
      blobs: { type: azure_blob, url: "${url}/azure/container?sig=abc" }
      table: { type: clickhouse, url: "${url}/clickhouse", table: llm.calls, username: u, password: p }
      topic: { type: kafka_rest, url: "${url}/kafka", topic: calls }
      traces: { type: langfuse, url: "${url}/langfuse", username: pk-1, password: sk-1 }
      dogs: { type: datadog, url: "${url}/datadog", password: dd-key }
      hook: { type: webhook, url: "${url}/hook", password: whsec_c2VjcmV0 }
      lines: { type: file, path: "${folder}/calls.jsonl", rotate_mb: 0.001, kept_files: 2 }
      failures: { type: file, path: "${folder}/failures.jsonl", outcome: failure }
      of_alice: { type: file, path: "${folder}/alice.jsonl", keys: [alice] }
      log: { type: syslog, url: "tcp://127.0.0.1:${syslog.port}" }
`
let gateway: Gateway
let ids: string[] = []

async function call(key: string, body: object): Promise<string> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'hello' }], ...body }),
  })
  await response.text()
  return response.headers.get('x-proxy-call-id')!
}

beforeAll(async () => {
  gateway = await startGateway({ config })
  const alice = await gateway.key({ key_alias: 'alice' })
  const bob = await gateway.key({ key_alias: 'bob' })
  ids = [await call(alice, {}), await call(bob, {}), await call(bob, { model: 'nobody' })]
  await call(alice, { 'no-log': true, user: 'silent' })
})
afterAll(async () => {
  await gateway.stop()
  await receiver.stop(true)
  syslog.stop(true)
  rmSync(folder, { recursive: true })
})

const of = (start: string) => taken.filter(one => one.path.startsWith(start))
const linesOf = (texts: readonly string[]) =>
  texts
    .flatMap(text => text.split('\n').filter(Boolean))
    .map(line => JSON.parse(line) as { request_id: string; outcome: string })
const idsIn = (texts: readonly string[]) => [...new Set(linesOf(texts).map(row => row.request_id))].sort()
const arrived = async (texts: () => readonly string[], expected = ids) => {
  await until(() => expected.every(id => texts().join('').includes(id)), 'all rows arrive')
  expect(idsIn(texts())).toEqual([...expected].sort())
}
const fileText = (name: string) =>
  readdirSync(folder)
    .filter(one => one.startsWith(name))
    .map(one => readFileSync(join(folder, one), 'utf8'))
const day = new Date().toISOString().slice(0, 8)

test('S3 gets JSON lines by day, signed', async () => {
  await arrived(() => of('/calls/').map(one => one.text))
  for (const { path, headers } of of('/calls/')) {
    expect(decodeURIComponent(path)).toMatch(new RegExp(`^/calls/p/day=${day}\\d\\d/[0-9a-f]{24}\\.jsonl$`))
    expect(headers.get('authorization')).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/s3\/aws4_request/,
    )
  }
})

test('Azure gets block blobs at an address with its signature', async () => {
  await arrived(() => of('/azure/').map(one => one.text))
  for (const { path, query, headers } of of('/azure/')) {
    expect(path).toStartWith(`/azure/container/day=${day}`)
    expect(query.get('sig')).toBe('abc')
    expect(headers.get('x-ms-blob-type')).toBe('BlockBlob')
  }
})

test('ClickHouse gets rows for its table, with a token that repeated batches share', async () => {
  await arrived(() => of('/clickhouse').map(one => one.text))
  for (const { query, headers } of of('/clickhouse')) {
    expect(query.get('query')).toBe('INSERT INTO llm.calls FORMAT JSONEachRow')
    expect(query.get('insert_deduplication_token')).toMatch(/^[0-9a-f]{24}$/)
    expect([headers.get('x-clickhouse-user'), headers.get('x-clickhouse-key')]).toEqual(['u', 'p'])
  }
})

test('Kafka gets records of a topic by its REST API, keyed by the id of the call', async () => {
  const records = () =>
    of('/kafka/').flatMap(one => (JSON.parse(one.text) as { records: { key: string; value: object }[] }).records)
  await until(() => ids.every(id => records().some(one => one.key === id)))
  expect(
    records()
      .map(one => one.key)
      .sort(),
  ).toEqual([...ids].sort())
  expect(of('/kafka/')[0]!.path).toBe('/kafka/topics/calls')
  expect(of('/kafka/')[0]!.headers.get('content-type')).toBe('application/vnd.kafka.json.v2+json')
})

test('Langfuse gets a trace and a generation for each call', async () => {
  interface Event {
    readonly id: string
    readonly type: string
    readonly body: Record<string, unknown>
  }
  const events = () => of('/langfuse/').flatMap(one => (JSON.parse(one.text) as { batch: Event[] }).batch)
  await until(() => events().length >= 2 * ids.length)
  const generation = events().find(one => one.id === `${ids[0]}-generation`)!
  expect(generation.type).toBe('generation-create')
  expect(generation.body).toMatchObject({ traceId: ids[0], model: 'sim-chat', level: 'DEFAULT' })
  expect(generation.body.costDetails).toEqual({ total: expect.any(Number) as number })
  expect(events().find(one => one.id === `${ids[2]}-generation`)!.body).toMatchObject({ level: 'ERROR' })
  expect(of('/langfuse/')[0]!.headers.get('authorization')).toBe(`Basic ${Buffer.from('pk-1:sk-1').toString('base64')}`)
  expect(of('/langfuse/')[0]!.path).toBe('/langfuse/api/public/ingestion')
})

test('Datadog gets logs, and a webhook lists that are signed', async () => {
  const logs = () => of('/datadog/').flatMap(one => JSON.parse(one.text) as { request_id: string; status: string }[])
  await until(() => ids.every(id => logs().some(one => one.request_id === id)))
  expect(logs().find(one => one.request_id === ids[2])).toMatchObject({ status: 'error', http_status: 503 })
  expect(of('/datadog/')[0]!.headers.get('dd-api-key')).toBe('dd-key')
  await until(() => ids.every(id => of('/hook').some(one => one.text.includes(id))))
  expect(of('/hook')[0]!.headers.get('webhook-signature')).toStartWith('v1,')
})

test('files get lines and are renamed when they are full; filters choose by outcome and key', async () => {
  await arrived(() => fileText('calls.jsonl'))
  await arrived(() => fileText('failures.jsonl'), [ids[2]!])
  await arrived(() => fileText('alice.jsonl'), [ids[0]!])
  for (let at = 0; at < 3; at++) {
    const before = fileText('calls.jsonl').join('').length
    await call(await gateway.key(), {})
    await until(() => fileText('calls.jsonl').join('').length !== before)
  }
  expect(existsSync(join(folder, 'calls.jsonl.1'))).toBe(true)
  expect(existsSync(join(folder, 'calls.jsonl.3'))).toBe(false)
})

test('syslog gets lines of RFC 5424, each with its length before it', async () => {
  await until(() => ids.every(id => syslogged.join('').includes(id)))
  expect(syslogged.join('')).toMatch(/^\d+ <134>1 \d{4}-\d\d-\d\dT[\d:.]+Z \S+ modelgate \d+ call - \{/)
  const [, length, rest] = /^(\d+) (.*)$/s.exec(syslogged[0]!)!
  expect(() => JSON.parse(rest!.slice(0, Number(length)).replace(/^.*? call - /, ''))).not.toThrow()
})

test('a call whose client asks for no-log is in the ledger and in no sink', async () => {
  await until(async () => (await gateway.rows()).some(row => row.end_user === 'silent' && row.no_log))
  const metric = async () =>
    (await (await gateway.admin('/metrics')).text()).match(/^modelgate_usage_export_waiting_rows.*$/gm)
  await until(async () => (await metric())!.length >= 10 && (await metric())!.every(line => line.endsWith(' 0')))
  expect([...taken.map(one => one.text), ...syslogged, ...fileText('')].join('')).not.toContain('silent')
})
