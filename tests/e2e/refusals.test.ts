/**
 * What hosts say when they refuse or fail, by the tables of `rules`, in each place where an error may stand, for
 * clients of four dialects: status, code, requests to the upstream, cooldown and fallback are those of the kind.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hostRefusals } from '../../rules/host-refusals.ts'
import type { RefusalExample } from '../../rules/refusal-rows.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { clients, clientNames } from './refusal-clients.ts'
import type { ClientName } from './refusal-clients.ts'
import { startRefusingUpstream } from './refusal-upstream.ts'
import type { Place } from './refusal-upstream.ts'

interface Expected {
  readonly status: number
  /** Of OpenAI's dialects; absent = the upstream's own. */
  readonly code?: string
  /** How often the upstream is asked by a call that may be retried twice. */
  readonly asked: number
  readonly cools: boolean
  readonly fallback: 'larger' | 'lenient' | 'spare' | undefined
}

const ofDeployment = { asked: 1, cools: true, fallback: 'spare' } as const
const ofRequest = { asked: 1, cools: false } as const
const kinds: Readonly<Record<string, Expected>> = {
  'too-long': { ...ofRequest, status: 400, code: 'context_length_exceeded', fallback: 'larger' },
  'content-policy': { ...ofRequest, status: 400, fallback: 'lenient' },
  'bad-input': { ...ofRequest, status: 400, fallback: undefined },
  'unknown-model': { ...ofDeployment, status: 404 },
  'bad-key': { ...ofDeployment, status: 502 },
  'no-credit': { ...ofDeployment, status: 502, code: 'upstream_credentials_refused' },
  rate: { ...ofDeployment, status: 429 },
  // Tried again, though the second failure in a row has begun the cooldown: there is no other deployment.
  overloaded: { ...ofDeployment, status: 503, asked: 3 },
}

interface Row {
  readonly host: string
  readonly kind: string
  readonly example: RefusalExample
  readonly expected: Expected
}

/** Bedrock's streams are binary, Vertex needs a token, and both hosts of Azure say the same: judged without a server. */
const withoutServer = new Set(['bedrock', 'vertex_ai', 'azure_ai'])

const rows: Row[] = Object.entries(hostRefusals).flatMap(([host, list]) =>
  withoutServer.has(host)
    ? []
    : list.flatMap(({ kind, example }) => {
        if (!example) return []
        const expected = { ...kinds[kind]! }
        // One request above the tokens of a minute: others still fit.
        const isTooLarge = JSON.stringify(example.body).includes('Request too large')
        return [{ host, kind, example, expected: isTooLarge ? { ...expected, cools: false } : expected }]
      }),
)

const places: readonly Place[] = ['status', 'whole', 'first', 'later']
const cases = rows.flatMap((row, at) =>
  places.flatMap(place =>
    clientNames.map(client => ({ ...row, place, client, id: `${row.host}-${at}-${place}-${client}` })),
  ),
)
type Case = (typeof cases)[number]

const upstream = startRefusingUpstream(cases)

function config(name: string, router: string): string {
  const served = ['larger', 'lenient', 'spare'].map(one => ({
    model_name: one,
    proxy_params: { model: 'custom_openai/sim', api_base: '{simulator}/v1', api_key: 'k' },
    model_info: { id: one },
  }))
  const list = cases.map(({ id, host }) => ({
    model_name: id,
    proxy_params: {
      model: `${host}/up`,
      api_base: `${upstream.url}/${name}/${id}`,
      api_key: 'upstream-key',
      ...(host === 'azure' && { api_version: '2024-10-21' }),
    },
    model_info: { id },
  }))
  return JSON.stringify({ model_list: [...list, ...served] }).replace(/\}$/, `, "router_settings": ${router}}`)
}

const retried = JSON.stringify({ num_retries: 2, allowed_fails: 2, cooldown_time: 300 })
const passedOn = JSON.stringify({
  num_retries: 0,
  allowed_fails: 1000,
  fallbacks: [{ '*': ['spare'] }],
  context_window_fallbacks: [{ '*': ['larger'] }],
  content_policy_fallbacks: [{ '*': ['lenient'] }],
})

let alone: Gateway
let backed: Gateway
const answers = new Map<string, { alone: Answer; backed: Answer; asked: number }>()
const cooling = new Set<string>()

interface Answer {
  readonly status: number
  readonly by: string | null
  readonly text: string
}

async function ask(gateway: Gateway, { id, client, place }: Case): Promise<Answer> {
  const { path, body } = clients[client].request(id, place === 'first' || place === 'later')
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body!) {
    text += decoder.decode(bytes, { stream: true })
    // The error comes only when the client has the words before it.
    if (place === 'later' && text.includes('so far'))
      upstream.release(`${gateway === alone ? 'alone' : 'backed'}/${id}`)
  }
  return { status: response.status, by: response.headers.get('x-proxy-model-id'), text }
}

/** A cooldown lasts a minute at most: on a busy machine the first are over before the last case is asked. */
const casesBetweenLooks = 150

async function noteCooldowns(): Promise<void> {
  const { providers } = (await (await alone.admin('/health/providers')).json()) as {
    providers: { deployments: { model_id: string; cooldowns: unknown[] }[] }[]
  }
  for (const one of providers.flatMap(({ deployments }) => deployments))
    if (one.cooldowns.length > 0) cooling.add(one.model_id)
}

beforeAll(async () => {
  alone = await startGateway({ config: config('alone', retried) })
  backed = await startGateway({ config: config('backed', passedOn) })
  const waiting = [...cases]
  const worker = async () => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      const [first, second] = await Promise.all([ask(alone, one), ask(backed, one)])
      answers.set(one.id, { alone: first, backed: second, asked: upstream.asked(`alone/${one.id}`) })
      if (answers.size % casesBetweenLooks === 0) await noteCooldowns()
    }
  }
  await Promise.all(Array.from({ length: 64 }, worker))
  await noteCooldowns()
}, 300_000)
afterAll(async () => {
  await alone?.stop()
  await backed?.stop()
  upstream.stop()
})

test('sixteen hosts, and all eight kinds of refusals, are in the grid', () => {
  expect(new Set(rows.map(row => row.host)).size).toBeGreaterThanOrEqual(16)
  expect(new Set(rows.map(row => row.kind))).toEqual(new Set(Object.keys(kinds)))
})

describe.each(places)('%s', place => {
  test.each(rows.map((row, at) => [`${row.host}: ${row.kind} (${at})`, at] as const))('%s', (_, at) => {
    for (const one of cases.filter(
      ({ id, place: other }) => other === place && id.startsWith(`${rows[at]!.host}-${at}-`),
    ))
      check(one)
  })
})

/** Refusals keep their own status, where it is one of a wrong request. */
function statusOf({ kind, example, expected }: Case): number {
  return kind === 'bad-input' && example.status < 500 ? example.status : expected.status
}

function check(one: Case): void {
  const { id, client, place, expected } = one
  const { alone: seen, backed: passed, asked } = answers.get(id)!
  const isLate = place === 'later'
  const said = clients[client as ClientName].errorIn(seen.text, isLate)
  expect({ id, status: isLate ? said.status : seen.status }).toEqual({
    id,
    status: isLate && said.status === undefined ? undefined : statusOf(one),
  })
  if (isLate)
    expect({ id, status: seen.status, words: seen.text.includes('so far') }).toEqual({ id, status: 200, words: true })
  if (expected.code !== undefined && said.code !== undefined)
    expect({ id, code: said.code }).toEqual({ id, code: expected.code })
  if (one.kind === 'too-long' && client === 'messages')
    expect(said.message.toLowerCase()).toContain('prompt is too long')
  expect({ id, message: said.message === '' }).toEqual({ id, message: false })
  // After its first words a stream is neither repeated nor passed on.
  expect({ id, asked }).toEqual({ id, asked: isLate ? 1 : expected.asked })
  expect({ id, cools: cooling.has(id) }).toEqual({ id, cools: expected.cools && (!isLate || expected.asked === 1) })
  const fallback = isLate ? undefined : expected.fallback
  expect({ id, status: passed.status === 200, by: passed.by }).toEqual({
    id,
    status: isLate || fallback !== undefined,
    by: fallback ?? id,
  })
}
